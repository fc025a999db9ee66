#include "model/self_attention.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/attention.h"
#include "model/key_value_cache.h"

namespace semfuse {

namespace {

// From the head that hardly reads past the last words to one that reads far: 1/2 to 1/256 for eight heads.
std::vector<float> slopes_of(std::size_t num_heads) {
  constexpr double kFarthest = 8.0;  // Of all heads the last has 2^-8.
  std::vector<float> slopes;
  for (std::size_t head = 1; head <= num_heads; ++head) {
    slopes.push_back(
        static_cast<float>(std::exp2(-kFarthest * static_cast<double>(head) / static_cast<double>(num_heads))));
  }
  return slopes;
}

}  // namespace

SelfAttention::SelfAttention(ParameterLayout& layout, LinearList& linears, const std::string& name,
                             const ModelOptions& options, std::size_t layer)
    : width_(options.width), num_heads_(options.heads), layer_(layer) {
  if (options.distance_bias) slopes_ = slopes_of(num_heads_);
  const std::size_t width = width_;
  const ParameterId weight = layout.add(name + ".in_proj_weight", {3 * width, width});
  const ParameterId bias = layout.add(name + ".in_proj_bias", {3 * width});
  in_proj_ = linears.add(weight, bias, width);
  out_proj_ = linears.add(name + ".out_proj", width, width, width);
}

void SelfAttention::initialise(InitialWeights& weights) const {
  // PyTorch draws queries, keys and values as one matrix, by Glorot's bound; biases begin at 0.
  weights.uniform(in_proj_.weight, std::sqrt(6.0 / static_cast<double>(in_proj_.outputs + in_proj_.inputs)));
  weights.uniform(out_proj_.weight, InitialWeights::bound(out_proj_));
}

SelfAttention::Cache SelfAttention::allocate(const Batch& batch, Workspace& workspace) const {
  Cache cache;
  std::size_t total = 0;
  for (std::size_t s = 0; s < batch.num_sentences(); ++s) {
    cache.first.push_back(total);
    total += num_heads_ * batch.length(s) * attention_stride(batch.end_position(s));
  }
  cache.qkv = workspace.matrix(batch.num_tokens(), 3 * width_);
  cache.weights = workspace.floats(total);
  cache.context = workspace.matrix(batch.num_tokens(), width_);
  return cache;
}

std::size_t SelfAttention::scratch_size(const Batch& batch) const {
  const std::size_t longest = batch.longest();
  return attention_scratch(longest, head_width()) + whole_lines(3 * longest * head_width());
}

// Calls visit(site, rows of the sentence, first column of the head, weights) for every sentence of the shard and every
// head.
template <class Visit>
void SelfAttention::for_each_head(const Pass& pass, const Shard& shard, const Cache& cache, const Visit& visit) const {
  AttentionSite site{.causal = pass.attention == AttentionMask::causal,
                     .dropout = pass.dropout.mask(layer_, DropoutPlan::Site::attention_weights),
                     .dropout_row_step = num_heads_};
  for (std::size_t s = shard.first_sentence; s < shard.first_sentence + shard.num_sentences; ++s) {
    const std::size_t first = pass.batch.first_token[s];
    const std::size_t length = pass.batch.length(s);
    const std::size_t stride = attention_stride(length);
    for (std::size_t head = 0; head < num_heads_; ++head) {
      if (!slopes_.empty()) site.slope = slopes_[head];
      site.first_dropout_row = (pass.batch.first_row + first) * num_heads_ + head;
      const Matrix weights(cache.weights + cache.first[s] + head * length * stride, length, length, stride);
      visit(site, first, weights, head * head_width());
    }
  }
}

void SelfAttention::forward(const Pass& pass, const Shard& shard, ConstMatrix x, Cache& cache, Matrix y,
                            float* scratch) const {
  pass.packed.forward(in_proj_, x, shard.rows_of(cache.qkv));
  const std::size_t size = head_width();
  if (!pass.past.empty()) {
    attend_to_past(pass, shard, cache);
    pass.packed.forward(out_proj_, shard.rows_of(cache.context), y);
    return;
  }
  for_each_head(pass, shard, cache,
                [&](const AttentionSite& site, std::size_t first, Matrix weights, std::size_t column) {
                  const Matrix qkv = cache.qkv.row_range(first, weights.rows());
                  attention_forward(site, qkv.column_range(column, size), qkv.column_range(width_ + column, size),
                                    qkv.column_range(2 * width_ + column, size), weights,
                                    cache.context.row_range(first, weights.rows()).column_range(column, size), scratch);
                });
  pass.packed.forward(out_proj_, shard.rows_of(cache.context), y);
}

void SelfAttention::attend_to_past(const Pass& pass, const Shard& shard, Cache& cache) const {
  for (std::size_t s = shard.first_sentence; s < shard.first_sentence + shard.num_sentences; ++s) {
    KeyValueCache& past = *pass.past[s];
    for (std::size_t t = pass.batch.first_token[s]; t < pass.batch.first_token[s + 1]; ++t) {
      const float* qkv = cache.qkv.row(t);
      const std::size_t position = pass.batch.positions[t];
      past.store(layer_, position, qkv + width_, qkv + 2 * width_);
      attention_over_keys(qkv, past.keys(layer_), past.values(layer_, position + 1), num_heads_, slopes_,
                          cache.context.row(t), cache.weights + cache.first[s]);
    }
  }
}

void SelfAttention::past_gradient(const Pass& pass, const Shard& shard, Cache& cache, ConstMatrix d_context) const {
  const std::vector<float> nothing(width_);
  for (std::size_t s = shard.first_sentence; s < shard.first_sentence + shard.num_sentences; ++s) {
    assert(pass.batch.length(s) == 1);  // Attention weights of the last token only are kept.
    const std::size_t t = pass.batch.first_token[s];
    const std::size_t position = pass.batch.positions[t];
    const KeyValueCache& past = *pass.past[s];
    KeyValueCache& d_past = *pass.d_past[s];
    float* qkv = cache.qkv.row(t);
    const std::vector<float> q(qkv, qkv + width_);
    attention_over_keys_backward(q.data(), past.keys(layer_), past.values(layer_, position + 1), num_heads_,
                                 cache.context.row(t), d_context.row(t - shard.first_token),
                                 cache.weights + cache.first[s], qkv, d_past.keys(layer_),
                                 d_past.values(layer_, position + 1));
    d_past.load(layer_, position, qkv + width_, qkv + 2 * width_);
    d_past.store(layer_, position, nothing.data(), nothing.data());
  }
}

void SelfAttention::backward(const Pass& pass, const Shard& shard, Cache& cache, ConstMatrix d_y, Matrix d_context,
                             Matrix d_x, float* scratch) const {
  // y = context · out_projᵀ
  pass.packed.backward(out_proj_, d_y, d_context, false);
  // context = attention(qkv)
  if (!pass.past.empty()) {
    past_gradient(pass, shard, cache, d_context);
    pass.packed.backward(in_proj_, shard.rows_of(cache.qkv), d_x, true);
    return;
  }
  const std::size_t size = head_width();
  for_each_head(pass, shard, cache,
                [&](const AttentionSite& site, std::size_t first, Matrix weights, std::size_t column) {
                  const std::size_t length = weights.rows();
                  const Matrix qkv = cache.qkv.row_range(first, length);
                  const Matrix d_head[3] = {{scratch, length, size},
                                            {scratch + length * size, length, size},
                                            {scratch + 2 * length * size, length, size}};
                  attention_backward(site, qkv.column_range(column, size), qkv.column_range(width_ + column, size),
                                     qkv.column_range(2 * width_ + column, size), weights,
                                     d_context.row_range(first - shard.first_token, length).column_range(column, size),
                                     d_head[0], d_head[1], d_head[2], scratch + whole_lines(3 * length * size));
                  for (std::size_t part = 0; part < 3; ++part) {
                    for (std::size_t t = 0; t < length; ++t) {
                      std::copy_n(d_head[part].row(t), size, qkv.row(t) + part * width_ + column);
                    }
                  }
                });
  // qkv = x · in_projᵀ
  pass.packed.backward(in_proj_, shard.rows_of(cache.qkv), d_x, true);
}

void SelfAttention::gradients(const Cache& cache, ConstMatrix x, ConstMatrix d_y, GradientTasks& tasks) const {
  tasks.add(in_proj_, cache.qkv, x);
  tasks.add(out_proj_, d_y, cache.context);
}

}  // namespace semfuse
