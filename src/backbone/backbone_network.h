// A pretrained model as generation and training reach it, with an adapter or without.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "backbone/adapter.h"
#include "backbone/backbone.h"
#include "model/pretrained_network.h"

namespace semfuse {

// The file of a backbone as an adapter remembers it.
struct BackboneFile {
  std::string path;    // From the root on.
  std::string sha256;  // Of its bytes.
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // Nanoseconds; while size and time are the same, nothing is read to compare the hash.

  bool operator==(const BackboneFile&) const = default;
};

// `path` is a model.safetensors that `semfuse import` wrote, or its folder. Reads all of it. Throws Error.
BackboneFile describe_backbone(const std::filesystem::path& path);

// Throws Error that begins with `origin`, who was trained on it, if the file is gone or another.
void require_unchanged(const BackboneFile& file, const std::string& origin);

class BackboneNetwork : public PretrainedNetwork {
 public:
  explicit BackboneNetwork(const std::filesystem::path& path) : backbone_(path) {}
  BackboneNetwork(const BackboneFile& file, const AdapterShape& shape)
      : backbone_(file.path), file_(file), adapter_(std::in_place, backbone_.spec(), shape) {}

  const Backbone& backbone() const { return backbone_; }
  // The next two are of an adapted model; nullptr otherwise.
  const Adapter* adapter() const { return adapter_ ? &*adapter_ : nullptr; }
  const BackboneFile* file() const { return adapter_ ? &file_ : nullptr; }

  std::size_t parameter_count() const override;
  std::size_t context() const override;
  bool begins_texts() const override;
  std::string fingerprint() const override;
  void output_row(TokenId id, float* row) const override;
  KeyValueCache empty_cache() const override;
  std::unique_ptr<StreamPass> open_pass(std::size_t num_threads, const ParameterBlock& weights) const override;
  const ParameterLayout* layout() const override { return adapter_ ? &adapter_->layout() : nullptr; }
  std::size_t num_features() const override { return adapter_ ? adapter_->shape().num_features : 0; }

 private:
  Backbone backbone_;
  BackboneFile file_;
  std::optional<Adapter> adapter_;
};

}  // namespace semfuse
