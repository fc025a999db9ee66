// The input of the encoder: token embedding, gated semantic features, sinusoidal positions.
#pragma once

#include <optional>

#include "core/workspace.h"
#include "model/initial_weights.h"
#include "model/pass.h"

namespace semfuse {

// Row p holds sin(p / 10000^(2i/width)) at column 2i and the cosine at 2i + 1. Grows on demand.
class PositionTable {
 public:
  explicit PositionTable(std::size_t width) : width_(width) {}
  void reserve(std::size_t length);
  ConstMatrix rows() const { return {numbers_.data(), length_, width_}; }

 private:
  std::size_t width_;
  std::size_t length_ = 0;
  std::vector<float> numbers_;
};

class FusedEmbedding {
 public:
  // Without features and request: plain embedding and positions. Without a gate: h = e + u + position. If features are
  // learned, backward gives their gradient too. A sentence's request, if the model reads one, joins the features s of
  // each of its tokens. All but the positions enters times `scale`, and begins at 1 / scale of the usual.
  FusedEmbedding(ParameterLayout& layout, LinearList& linears, std::size_t vocab_size, std::size_t width,
                 std::size_t num_features, bool gated = true, bool learned_features = false,
                 std::size_t num_request_columns = 0, double scale = 1.0, std::size_t num_vector_columns = 0);
  // The vector of each token [vocab_size, num_vector_columns], which must stay where it is.
  void set_vectors(ConstMatrix vectors) { vectors_ = vectors; }
  // If output rows read the feature map as they read the token table, it begins at the same scale.
  void initialise(InitialWeights& weights, bool makes_output_rows) const;

  ParameterId table() const { return table_; }
  // The map W_s of the features, of the vectors and, in its last columns, of the request; only with one of them.
  ParameterId feature_map() const { return fusion_->projection.weight; }

  struct Cache {
    Matrix joined;    // [num_tokens, width + num_fused]: embedding e and features s side by side
    Matrix u;         // [num_tokens, width]: projected features; backward: their gradient
    Matrix gate;      // [num_tokens, width]: σ(W_g [e; s]); backward: the gradient of its argument
    Matrix h;         // [num_tokens, width]: scale · (e + u + gate ∘ u) + position
    Matrix d_joined;  // [num_tokens, width + num_features]: the gate's part of the gradient of e, the gradient of s
  };
  Cache allocate(const Batch& batch, Workspace& workspace) const;
  // The gradient of the features after backward; only if they are learned.
  ConstMatrix d_features(const Cache& cache) const { return cache.d_joined.column_range(width_, num_features_); }

  void forward(const Pass& pass, const Shard& shard, ConstMatrix positions, Cache& cache) const;
  // d_h becomes the gradient of e.
  void backward(const Pass& pass, const Shard& shard, Cache& cache, Matrix d_h) const;
  void gradients(const Cache& cache, GradientTasks& tasks) const;
  // Adds every row of d_e to the gradient of its token's row, in the order of the tokens; tokens without identity have
  // none.
  void scatter_gradient(const Pass& pass, ConstMatrix d_e, Matrix d_table, ThreadPool& pool) const;

 private:
  // A batch without requests asks for nothing.
  void join_requests(const Batch& batch, const Shard& shard, Matrix joined) const;

  struct Fusion {
    Linear projection;
    std::optional<Linear> gate;
  };
  std::size_t width_;
  double scale_;
  std::size_t num_features_;
  std::size_t num_vector_columns_;
  std::size_t num_fused_;  // Features, columns of vectors and of the request.
  ConstMatrix vectors_;
  bool learned_features_;
  ParameterId table_;
  std::optional<Fusion> fusion_;
};

}  // namespace semfuse
