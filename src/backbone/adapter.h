// What is trained beside a frozen backbone, so that it can be asked for something: fusion at the embedding and low-rank
// updates of its layers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "backbone/backbone_spec.h"
#include "model/feature_head.h"
#include "model/linear.h"

namespace semfuse {

struct AdapterShape {
  std::size_t num_features = 0;         // Of each token; 0: requests alone.
  std::size_t num_request_columns = 0;  // Of each text, at least 1.
  std::size_t rank = 0;                 // Of the updates; 0: none.
  bool gate = true;                     // Of the fusion.
  std::size_t feature_head = 64;        // Inner size of the head that reads features back; only with features.

  std::size_t num_fused() const { return num_features + num_request_columns; }
  bool operator==(const AdapterShape&) const = default;
};

// Which parameters there are, and what each layer reads; no numbers. All of it is for rows of texts that ask for
// something. Rows of others are left alone, so that they are the backbone's to the last bit.
//
// Fusion: x becomes x + u + g ∘ u for u = W_s [features; request] + b_s and g = σ(W_g [x; features; request] + b_g).
// An update of a map y = W x adds W_b ((W_a x + b_a) ∘ (W_m request + b_m)): the request says how much of each of the
// `rank` directions is added. W_s, b_s and W_b begin at 0, and so the model begins as the backbone.
class Adapter {
 public:
  Adapter(const BackboneSpec& spec, const AdapterShape& shape);
  // Its parts refer to its layout.
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  const AdapterShape& shape() const { return shape_; }
  std::size_t width() const { return width_; }
  const ParameterLayout& layout() const { return layout_; }
  const std::vector<Linear>& linears() const { return linears_.all(); }
  ParameterBlock initial_weights(std::uint64_t seed) const;

  const Linear& projection() const { return projection_; }
  const std::optional<Linear>& gate() const { return gate_; }
  const std::optional<FeatureHead>& feature_head() const { return feature_head_; }

  // Maps of a layer that have an update.
  enum class Site : std::size_t { query, value, up, down };
  static constexpr std::array kSites = {Site::query, Site::value, Site::up, Site::down};
  struct Update {
    Linear narrow;   // W_a, b_a: [rank, inputs]
    Linear request;  // W_m, b_m: [rank, request columns]
    Linear widen;    // W_b: [outputs, rank]
  };
  // nullptr without updates.
  const Update* update(std::size_t layer, Site site) const;

 private:
  AdapterShape shape_;
  std::size_t width_;
  ParameterLayout layout_;
  LinearList linears_{layout_};
  Linear projection_;
  std::optional<Linear> gate_;
  std::optional<FeatureHead> feature_head_;
  std::vector<std::array<Update, kSites.size()>> updates_;
};

// An adapter with its numbers as the matrix kernels read them. Any number of threads may read it at once.
class AdapterWeights {
 public:
  // `adapter` must outlive it.
  explicit AdapterWeights(const Adapter& adapter) : adapter_(adapter), packed_(adapter.layout(), adapter.linears()) {}
  // Takes the numbers as they now are; `weights` must stay where they are.
  void refresh(const ParameterBlock& weights, ThreadPool& pool) { packed_.refresh(weights, pool); }

  const Adapter& adapter() const { return adapter_; }
  const PackedWeights& packed() const { return packed_; }

  // joined [rows, width + fused]: x, features and request side by side. u and gate [rows, width] are what backward
  // needs; the last only if there is a gate.
  void fuse(ConstMatrix joined, Matrix u, Matrix gate, Matrix h) const;

  // What an update computes on its way, each [rows, rank].
  struct Narrow {
    Matrix state;   // W_a x + b_a
    Matrix factor;  // W_m request + b_m
    Matrix mixed;   // state ∘ factor
  };
  // y += the update of x
  void add_update(const Adapter::Update& update, ConstMatrix x, ConstMatrix requests, const Narrow& narrow,
                  Matrix y) const;

 private:
  const Adapter& adapter_;
  PackedWeights packed_;
};

}  // namespace semfuse
