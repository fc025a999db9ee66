// Multi-head self-attention of packed sentences.
#pragma once

#include <string>
#include <vector>

#include "core/workspace.h"
#include "model/initial_weights.h"
#include "model/pass.h"

namespace semfuse {

class SelfAttention {
 public:
  SelfAttention(ParameterLayout& layout, LinearList& linears, const std::string& name, const ModelOptions& options,
                std::size_t layer);
  void initialise(InitialWeights& weights) const;

  struct Cache {
    Matrix qkv;                      // [num_tokens, 3 · width]; backward: its gradient.
    float* weights;                  // Attention weights of every sentence and head.
    std::vector<std::size_t> first;  // [num_sentences]: where a sentence's weights begin.
    Matrix context;                  // [num_tokens, width]
  };
  Cache allocate(const Batch& batch, Workspace& workspace) const;
  // Floats of scratch for one worker.
  std::size_t scratch_size(const Batch& batch) const;

  // y = attention(x) before dropout
  void forward(const Pass& pass, const Shard& shard, ConstMatrix x, Cache& cache, Matrix y, float* scratch) const;
  // d_x += the gradient of x; d_context is scratch of x's shape.
  void backward(const Pass& pass, const Shard& shard, Cache& cache, ConstMatrix d_y, Matrix d_context, Matrix d_x,
                float* scratch) const;
  void gradients(const Cache& cache, ConstMatrix x, ConstMatrix d_y, GradientTasks& tasks) const;

 private:
  std::size_t head_width() const { return width_ / num_heads_; }
  template <class Visit>
  void for_each_head(const Pass& pass, const Shard& shard, const Cache& cache, const Visit& visit) const;
  // Stores the keys and values of the batch's tokens and computes their context over all that is stored.
  void attend_to_past(const Pass& pass, const Shard& shard, Cache& cache) const;
  // From d_context to the gradient of qkv and of what is stored, but for the batch's own tokens, whose is in qkv's.
  void past_gradient(const Pass& pass, const Shard& shard, Cache& cache, ConstMatrix d_context) const;

  std::size_t width_;
  std::size_t num_heads_;
  std::size_t layer_;
  std::vector<float> slopes_;  // Of the heads; empty without distance_bias.
  Linear in_proj_;
  Linear out_proj_;
};

}  // namespace semfuse
