#include "model/network.h"

#include <cassert>
#include <cmath>
#include <utility>

namespace semfuse {

namespace {

std::optional<MembershipLayer> add_memberships(ParameterLayout& layout, std::size_t num_features,
                                               const FeatureOptions& features) {
  if (num_features == 0 || !features.learn_kernel) return std::nullopt;
  return MembershipLayer(layout, features);
}

}  // namespace

Network::Network(const ModelOptions& options, std::size_t vocab_size, std::size_t num_features,
                 std::vector<float> word_features, const FeatureOptions& features, std::size_t num_vector_columns)
    : options_(options),
      vocab_size_(vocab_size),
      num_features_(num_features),
      num_vector_columns_(num_vector_columns),
      num_request_columns_(request_columns(options.knobs)),
      word_features_(std::move(word_features)),
      embedding_(layout_, linears_, vocab_size, options.width, num_features, options.gate, features.learn_kernel,
                 num_request_columns_, options.scaled_embedding ? std::sqrt(static_cast<double>(options.width)) : 1.0,
                 num_vector_columns),
      memberships_(add_memberships(layout_, num_features, features)),
      encoder_(layout_, linears_, options) {
  assert(word_features_.empty() || word_features_.size() == vocab_size * num_word_columns());
  assert(num_vector_columns == 0 || !memberships_);
  if (num_vector_columns > 0 && !word_features_.empty())
    embedding_.set_vectors(this->word_features().column_range(num_features, num_vector_columns));
  if (num_features > 0) feature_head_.emplace(linears_, options.width, options.feature_head, num_features);
}

ParameterBlock Network::initial_weights(std::uint64_t seed) const {
  InitialWeights weights(
      layout_, seed,
      options_.norm == NormPlace::post ? InitialWeights::Layers::alike : InitialWeights::Layers::different);
  embedding_.initialise(weights, options_.output_features);
  encoder_.initialise(weights);
  if (feature_head_) feature_head_->initialise(weights);
  return weights.take();  // Memberships begin at 0.
}

Network::Activations Network::allocate(const Batch& batch, Workspace& workspace) const {
  Activations activations;
  activations.embedding = embedding_.allocate(batch, workspace);
  activations.encoder = encoder_.allocate(batch, activations.embedding.h, workspace);
  activations.scratch_size = encoder_.scratch_size(batch);
  if (feature_head_) activations.feature_head = feature_head_->allocate(batch, workspace);
  return activations;
}

void Network::forward(const Pass& pass, const Shard& shard, ConstMatrix positions, Activations& activations,
                      float* scratch) const {
  embedding_.forward(pass, shard, positions, activations.embedding);
  encoder_.forward(pass, shard, activations.encoder, scratch);
}

void Network::backward(const Pass& pass, const Shard& shard, Activations& activations, Matrix d_x,
                       float* scratch) const {
  encoder_.backward(pass, shard, activations.encoder, d_x, scratch);
  embedding_.backward(pass, shard, activations.embedding, d_x);
}

void Network::gradients(const Activations& activations, GradientTasks& tasks) const {
  encoder_.gradients(activations.encoder, tasks);
  embedding_.gradients(activations.embedding, tasks);
  if (feature_head_) feature_head_->gradients(*activations.feature_head, activations.hidden(), tasks);
}

double Network::training_flops(const Batch& batch) const {
  // The token head, then every other map.
  double forward = 2.0 * static_cast<double>(batch.num_tokens() * options_.width * vocab_size_);
  for (const Linear& linear : linears()) {
    forward += 2.0 * static_cast<double>(batch.num_tokens()) * static_cast<double>(linear.inputs) *
               static_cast<double>(linear.outputs);
  }
  for (std::size_t s = 0; s < batch.num_sentences(); ++s) {
    const auto length = static_cast<double>(batch.length(s));
    const double pairs = options_.attention == AttentionMask::causal ? 0.5 * length * (length + 1.0) : length * length;
    // Scores and context of all heads of all layers.
    forward += 2.0 * 2.0 * pairs * static_cast<double>(options_.width * options_.layers);
  }
  return 3.0 * forward;
}

}  // namespace semfuse
