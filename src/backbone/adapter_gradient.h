// The gradient of an adapter over some texts: forward through the frozen backbone, the losses, and back to where the
// adapter adds to it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "backbone/adapter.h"
#include "backbone/backbone.h"
#include "backbone/frozen_maps.h"
#include "batching/batch.h"
#include "core/workspace.h"
#include "kernels/rotary.h"

namespace semfuse {

// What a position of a text reads and predicts, by the backbone's own ids.
struct AdaptedRow {
  TokenId token;
  TokenId target;
  std::size_t position;  // In the backbone's text.
  std::size_t source;    // Row of the batch.
  std::size_t sentence;
};

// The rows of the shard's texts that ask for something; others teach an adapter nothing. <bos> is read if the model
// reads one before texts; of a model that only can, every other text has it, so that both are learned. <eos> is
// predicted if a token ends texts. Throws Error for a text longer than the context.
std::vector<AdaptedRow> adapted_rows(const Batch& batch, const Shard& shard, const BackboneSpec& spec);

struct AdapterLosses {
  double tokens = 0.0;  // Sums over the positions.
  double features = 0.0;
  double positions = 0.0;

  void operator+=(const AdapterLosses& other) {
    tokens += other.tokens;
    features += other.features;
    positions += other.positions;
  }
};

// Works on one shard at a time and keeps its memory from one to the next. Attention weights are not stored. If what
// the layers compute takes more than `most_bytes`, only what enters each is kept, and backward computes the rest again,
// to the same bits.
class AdapterGradient {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{192} << 20;

  // All must outlive it.
  AdapterGradient(const Backbone& backbone, const FrozenMaps& maps, const Adapter& adapter,
                  std::size_t most_bytes = kMostBytes);
  ~AdapterGradient();

  struct Options {
    float per_position = 1.0f;  // Scale of the gradient.
    double feature_loss = 0.0;  // Weight of the loss that reads features back.
  };
  // Overwrites the gradients with those of the shard.
  AdapterLosses run(const Batch& batch, const Shard& shard, const AdapterWeights& weights,
                    const ParameterBlock& numbers, const Options& options, ParameterBlock& gradients);

  // Forward alone: visit(rows, logits) for some rows at a time, in order. The first token that ends texts has the
  // probability of all of them.
  using Visit = std::function<void(std::span<const AdaptedRow> rows, Matrix logits)>;
  void predict(const Batch& batch, const Shard& shard, const AdapterWeights& weights, const Visit& visit);

  std::size_t peak_bytes() const { return workspace_.peak_bytes(); }

 private:
  struct Layer;
  struct Text {
    std::size_t first;
    std::size_t length;
  };

  void begin(const Batch& batch, const Shard& shard, bool backward);
  Layer new_layer();
  void embed(const Batch& batch, const AdapterWeights& weights);
  void forward(const Batch& batch, const AdapterWeights& weights);
  void forward_layer(std::size_t index, const AdapterWeights& weights, Layer& layer);
  void backward_layer(std::size_t index, const AdapterWeights& weights, Layer& layer, ParameterBlock& gradients);
  void backward_attention(const Layer& layer);
  void backward_update(std::size_t index, Adapter::Site site, const AdapterWeights& weights, const Layer& layer,
                       ConstMatrix d_y, ConstMatrix x, Matrix d_x, ParameterBlock& gradients);
  double backward_head(float per_position);
  double backward_features(const Batch& batch, const AdapterWeights& weights, const ParameterBlock& numbers,
                           float scale, ParameterBlock& gradients);
  template <class VisitHead>
  void for_each_head(const VisitHead& visit) const;
  void turn(Matrix x, std::size_t num_heads, bool back) const;
  void normalise(ConstMatrix x, const NormWeights& norm, float* inverse, Matrix y) const;
  void normalise_backward(ConstMatrix d_y, ConstMatrix x, const NormWeights& norm, const float* inverse,
                          bool accumulate, Matrix d_x) const;
  void merge_ends(Matrix logits);
  void split_ends(Matrix d_logits) const;

  ThreadPool alone_{1};
  const Backbone& backbone_;
  const FrozenMaps& maps_;
  const Adapter& adapter_;
  std::size_t most_bytes_;
  RotaryTable rotary_;
  Workspace workspace_;

  // Of the shard in work.
  std::vector<AdaptedRow> rows_;
  std::vector<Text> texts_;
  bool recomputes_ = false;
  std::vector<Layer> layers_;   // A single one if it is computed again.
  std::vector<Matrix> inputs_;  // Of each layer, and of the final norm.
  Matrix joined_, u_, gate_;    // Of the fusion.
  Matrix requests_;             // [rows, request columns], a part of joined_
  Matrix hidden_, d_hidden_, d_x_;
  float* final_inverse_ = nullptr;
  Matrix logits_;                  // Of a few rows.
  std::vector<float> end_shares_;  // Of these rows, what each token that ends texts has of their probability.
  struct Scratch {
    Matrix d_normed, d_context, d_inner, d_q, d_k, d_v, d_narrow, d_factor;
    Matrix d_head[3];
    float* attention = nullptr;
  } scratch_;
};

}  // namespace semfuse
