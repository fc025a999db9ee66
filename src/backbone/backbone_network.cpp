#include "backbone/backbone_network.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "backbone/backbone_stream_pass.h"
#include "io/mapped_file.h"
#include "io/sha256.h"
#include "kernels/grouped_attention.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

namespace fs = std::filesystem;

// Size and time; nothing of what is no file.
std::optional<BackboneFile> look_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  constexpr std::int64_t kSecond = 1'000'000'000;
  return BackboneFile{.path = path,
                      .sha256 = {},
                      .size = static_cast<std::uint64_t>(status.st_size),
                      .modified = status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec};
}

std::string hash_of_file(const std::string& path) {
  const MappedFile file = MappedFile::whole(path);
  Sha256 hash;
  hash.add(file.as<std::byte>());
  return hash.digest();
}

// An adapter's numbers with what reads them, for one pass.
class AdaptedStreamPass : public StreamPass {
 public:
  AdaptedStreamPass(const Backbone& backbone, const Adapter& adapter, const ParameterBlock& weights,
                    std::size_t num_threads)
      : weights_(adapter), pass_(backbone, num_threads, &weights_) {
    ThreadPool alone(1);
    weights_.refresh(weights, alone);
  }

  Matrix run(std::span<TokenStream* const> streams) override { return pass_.run(streams); }
  ConstMatrix states(std::span<TokenStream* const> streams) override { return pass_.states(streams); }
  std::optional<std::size_t> num_known(const TokenStream& stream) override { return pass_.num_known(stream); }
  ConstMatrix hidden() const override { return pass_.hidden(); }

 private:
  AdapterWeights weights_;
  BackboneStreamPass pass_;
};

}  // namespace

BackboneFile describe_backbone(const fs::path& path) {
  std::error_code ignored;
  const fs::path named = fs::is_directory(path, ignored) ? path / "model.safetensors" : path;
  const std::string file = fs::absolute(named).lexically_normal().string();
  std::optional<BackboneFile> found = look_at(file);
  if (!found) throw Error(fmt::format("{}: there is no such model; `semfuse import` makes one", path.string()));
  found->sha256 = hash_of_file(file);
  return *found;
}

void require_unchanged(const BackboneFile& file, const std::string& origin) {
  const std::optional<BackboneFile> found = look_at(file.path);
  if (!found) {
    throw Error(
        fmt::format("{}: its backbone {} is not there; put it back, or adapt the model anew", origin, file.path));
  }
  if (found->size == file.size && found->modified == file.modified) return;
  if (found->size == file.size && hash_of_file(file.path) == file.sha256) return;
  throw Error(fmt::format("{}: its backbone {} has changed (sha256 was {}...); put the old one back, or adapt it anew",
                          origin, file.path, file.sha256.substr(0, 12)));
}

std::size_t BackboneNetwork::parameter_count() const {
  return backbone_.parameter_count() + (adapter_ ? adapter_->layout().parameter_count() : 0);
}

std::size_t BackboneNetwork::context() const {
  return backbone_.spec().context + (backbone_.spec().adds_bos ? 0 : 1);  // <bos> counts, read or not.
}

bool BackboneNetwork::begins_texts() const {
  return backbone_.spec().bos || !backbone_.spec().eos.empty();
}

std::string BackboneNetwork::fingerprint() const {
  return backbone_.spec().source_sha256;
}

void BackboneNetwork::output_row(TokenId id, float* row) const {
  const BackboneSpec& spec = backbone_.spec();
  if (id >= kFirstBackboneToken) {
    backbone_.head().decode(static_cast<std::size_t>(id - kFirstBackboneToken), row);
  } else if (id == Vocabulary::kEos && !spec.eos.empty()) {
    backbone_.head().decode(static_cast<std::size_t>(spec.eos.front()), row);
  } else {
    std::fill_n(row, spec.model_width, 0.0f);
  }
}

KeyValueCache BackboneNetwork::empty_cache() const {
  return {backbone_.spec().num_layers, backbone_.spec().key_width(), kGroupedKeyBlock};
}

std::unique_ptr<StreamPass> BackboneNetwork::open_pass(std::size_t num_threads, const ParameterBlock& weights) const {
  if (!adapter_) return std::make_unique<BackboneStreamPass>(backbone_, num_threads);
  return std::make_unique<AdaptedStreamPass>(backbone_, *adapter_, weights, num_threads);
}

}  // namespace semfuse
