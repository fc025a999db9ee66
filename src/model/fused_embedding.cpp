#include "model/fused_embedding.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/activations.h"

namespace semfuse {

void PositionTable::reserve(std::size_t length) {
  if (length <= length_) return;
  numbers_.resize(length * width_);
  for (std::size_t p = length_; p < length; ++p) {
    for (std::size_t j = 0; j < width_; ++j) {
      const std::size_t even = j - j % 2;
      const double angle =
          static_cast<double>(p) * std::pow(10000.0, -static_cast<double>(even) / static_cast<double>(width_));
      numbers_[p * width_ + j] = static_cast<float>(j % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  length_ = length;
}

FusedEmbedding::FusedEmbedding(ParameterLayout& layout, LinearList& linears, std::size_t vocab_size, std::size_t width,
                               std::size_t num_features, bool gated, bool learned_features,
                               std::size_t num_request_columns, double scale, std::size_t num_vector_columns)
    : width_(width),
      scale_(scale),
      num_features_(num_features),
      num_vector_columns_(num_vector_columns),
      num_fused_(num_features + num_vector_columns + num_request_columns),
      learned_features_(learned_features && num_features > 0),
      table_(layout.add("tok.weight", {vocab_size, width})) {
  if (num_fused_ > 0) {
    const std::size_t with_gradient = learned_features ? num_features : 0;
    const Linear projection = linears.add("sem_proj", num_fused_, width, with_gradient);
    fusion_ = Fusion{.projection = projection, .gate = {}};
    if (gated) fusion_->gate = linears.add("gate", width + num_fused_, width, width + with_gradient);
  }
}

void FusedEmbedding::initialise(InitialWeights& weights, bool makes_output_rows) const {
  weights.normal(table_, 1.0 / scale_);
  if (!fusion_) return;
  weights.draw(fusion_->projection, 1.0 / scale_);
  if (makes_output_rows) weights.normal(fusion_->projection.weight, 1.0 / scale_);
  if (fusion_->gate) weights.draw(*fusion_->gate);
}

FusedEmbedding::Cache FusedEmbedding::allocate(const Batch& batch, Workspace& workspace) const {
  Cache cache;
  const std::size_t num_tokens = batch.num_tokens();
  cache.h = workspace.matrix(num_tokens, width_);
  if (fusion_) {
    cache.joined = workspace.matrix(num_tokens, width_ + num_fused_);
    cache.u = workspace.matrix(num_tokens, width_);
    if (fusion_->gate) cache.gate = workspace.matrix(num_tokens, width_);
    if (learned_features_) cache.d_joined = workspace.matrix(num_tokens, width_ + num_features_);
  }
  return cache;
}

void FusedEmbedding::join_requests(const Batch& batch, const Shard& shard, Matrix joined) const {
  const std::size_t before = num_features_ + num_vector_columns_;
  const std::size_t columns = num_fused_ - before;
  if (columns == 0) return;
  assert(batch.num_request_columns == 0 || batch.num_request_columns == columns);
  for (std::size_t s = shard.first_sentence; s < shard.first_sentence + shard.num_sentences; ++s) {
    for (std::size_t t = batch.first_token[s]; t < batch.first_token[s + 1]; ++t) {
      float* target = joined.row(t - shard.first_token) + width_ + before;
      if (batch.num_request_columns == 0) {
        std::fill_n(target, columns, 0.0f);
      } else {
        std::copy_n(batch.request_rows().row(s), columns, target);
      }
    }
  }
}

void FusedEmbedding::forward(const Pass& pass, const Shard& shard, ConstMatrix positions, Cache& cache) const {
  const ConstMatrix table = pass.weights.matrix(pass.layout[table_]);
  const Matrix h = shard.rows_of(cache.h);
  const Matrix embedded = fusion_ ? shard.rows_of(cache.joined) : h;
  for (std::size_t t = 0; t < shard.num_tokens; ++t) {
    const TokenId token = pass.batch.inputs[shard.first_token + t];
    if (pass.has_identity(token)) {
      std::copy_n(table.row(static_cast<std::size_t>(token)), width_, embedded.row(t));
    } else {
      std::fill_n(embedded.row(t), width_, 0.0f);
    }
    if (fusion_)
      std::copy_n(pass.batch.feature_rows().row(shard.first_token + t), num_features_, embedded.row(t) + width_);
    if (num_vector_columns_ > 0)
      std::copy_n(vectors_.row(static_cast<std::size_t>(token)), num_vector_columns_,
                  embedded.row(t) + width_ + num_features_);
  }
  join_requests(pass.batch, shard, embedded);
  if (fusion_) {
    pass.packed.forward(fusion_->projection, embedded.column_range(width_, num_fused_), shard.rows_of(cache.u));
    const ConstMatrix e = embedded.column_range(0, width_);
    if (fusion_->gate) {
      pass.packed.forward(*fusion_->gate, embedded, shard.rows_of(cache.gate));
      fuse_forward(e, shard.rows_of(cache.u), shard.rows_of(cache.gate), h);
    } else {
      for (std::size_t t = 0; t < shard.num_tokens; ++t) std::copy_n(e.row(t), width_, h.row(t));
      add_rows(shard.rows_of(cache.u), h);
    }
  }
  for (std::size_t t = 0; t < shard.num_tokens; ++t) {
    add_rows(positions.row_range(pass.batch.positions[shard.first_token + t], 1), h.row_range(t, 1),
             static_cast<float>(scale_));
  }
}

void FusedEmbedding::backward(const Pass& pass, const Shard& shard, Cache& cache, Matrix d_h) const {
  if (scale_ != 1.0) scale_rows(static_cast<float>(scale_), d_h);
  if (!fusion_) return;
  const Matrix u = shard.rows_of(cache.u);
  const Matrix d_joined = learned_features_ ? shard.rows_of(cache.d_joined) : Matrix();
  if (!fusion_->gate) {
    // h = e + u
    for (std::size_t t = 0; t < shard.num_tokens; ++t) std::copy_n(d_h.row(t), width_, u.row(t));
  } else {
    // h = e + u + gate ∘ u
    fuse_backward(d_h, u, shard.rows_of(cache.gate));
    // gate = σ(W_g [e; s]); features have a gradient only if they are learned.
    if (learned_features_) {
      pass.packed.backward(*fusion_->gate, shard.rows_of(cache.gate), d_joined, false);
      add_rows(d_joined.column_range(0, width_), d_h);
    } else {
      pass.packed.backward(*fusion_->gate, shard.rows_of(cache.gate), d_h, true);
    }
  }
  // u = W_s s
  if (learned_features_) {
    pass.packed.backward(fusion_->projection, u, d_joined.column_range(width_, num_features_),
                         /*accumulate=*/fusion_->gate.has_value());
  }
}

void FusedEmbedding::gradients(const Cache& cache, GradientTasks& tasks) const {
  if (!fusion_) return;
  tasks.add(fusion_->projection, cache.u, cache.joined.column_range(width_, num_fused_));
  if (fusion_->gate) tasks.add(*fusion_->gate, cache.gate, cache.joined);
}

void FusedEmbedding::scatter_gradient(const Pass& pass, ConstMatrix d_e, Matrix d_table, ThreadPool& pool) const {
  const Batch& batch = pass.batch;
  constexpr std::size_t kColumns = 32;  // Of one task: all tokens, a few columns.
  pool.run((width_ + kColumns - 1) / kColumns, [&](std::size_t index, std::size_t) {
    const std::size_t first = index * kColumns;
    const std::size_t end = std::min(width_, first + kColumns);
    for (std::size_t t = 0; t < batch.num_tokens(); ++t) {
      if (!pass.has_identity(batch.inputs[t])) continue;
      const float* source = d_e.row(t);
      float* target = d_table.row(static_cast<std::size_t>(batch.inputs[t]));
      for (std::size_t j = first; j < end; ++j) target[j] += source[j];
    }
  });
}

}  // namespace semfuse
