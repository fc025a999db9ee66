#include "model/network.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/random.h"

namespace semfuse {

namespace {

Linear add_token_head(LinearList& linears, const FusedEmbedding& embedding, const ModelOptions& options,
                      ConstMatrix word_features, const std::optional<MembershipLayer>& memberships) {
  if (!options.output_features || word_features.data() == nullptr) {
    return linears.add(embedding.table(), std::nullopt, options.width);
  }
  return linears.add(embedding.table(), embedding.feature_map(), word_features, memberships ? &*memberships : nullptr,
                     options.width);
}

std::optional<MembershipLayer> add_memberships(ParameterLayout& layout, std::size_t num_features,
                                               const FeatureOptions& features) {
  if (num_features == 0 || !features.learn_kernel) return std::nullopt;
  return MembershipLayer(layout, features);
}

}  // namespace

Network::Network(const ModelOptions& options, std::size_t vocab_size, std::size_t num_features,
                 std::vector<float> word_features, const FeatureOptions& features)
    : options_(options),
      vocab_size_(vocab_size),
      num_features_(num_features),
      num_request_columns_(request_columns(options.knobs)),
      word_features_(std::move(word_features)),
      embedding_(layout_, linears_, vocab_size, options.width, num_features, options.gate, features.learn_kernel,
                 num_request_columns_),
      memberships_(add_memberships(layout_, num_features, features)),
      token_head_(add_token_head(linears_, embedding_, options, this->word_features(), memberships_)) {
  assert(word_features_.empty() || word_features_.size() == vocab_size * num_features);
  for (std::size_t layer = 0; layer < options.layers; ++layer) layers_.emplace_back(layout_, linears_, options, layer);
  if (num_features > 0) feature_head_.emplace(linears_, options.width, options.feature_head, num_features);
}

namespace {

// "enc.layers.3.linear1.bias" → "enc.layers.0.linear1.bias": all layers begin as copies of the first.
std::string drawn_as(const std::string& name) {
  constexpr std::string_view kPrefix = "enc.layers.";
  if (!name.starts_with(kPrefix)) return name;
  return std::string(kPrefix) + "0" + name.substr(name.find('.', kPrefix.size()));
}

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0;
  for (const char c : name) hash = mix_bits(hash + static_cast<unsigned char>(c) + 1);
  return hash;
}

}  // namespace

ParameterBlock Network::initial_weights(std::uint64_t seed) const {
  ParameterBlock weights(layout_);
  for (const ParameterInfo& info : layout_.entries()) {
    const RandomStream random(seed, RandomPurpose::weights, hash_of(drawn_as(info.name)));
    const auto uniform = [&](double bound) {
      float* w = weights.vector(info);
      for (std::size_t i = 0; i < info.size; ++i) w[i] = static_cast<float>((2.0 * random.uniform(i) - 1.0) * bound);
    };
    const auto ends_with = [&](std::string_view suffix) { return info.name.ends_with(suffix); };
    if (info.name.starts_with("memberships.")) continue;  // They begin at 0.
    // Output rows are read from the feature map as from the token table, so it starts at the same scale.
    const bool makes_output_rows =
        info.name == "tok.weight" || (options_.output_features && info.name == "sem_proj.weight");
    if (makes_output_rows) {
      for (std::size_t i = 0; i < info.size; ++i) weights.vector(info)[i] = static_cast<float>(random.normal(i));
    } else if (ends_with("norm1.weight") || ends_with("norm2.weight")) {
      std::fill_n(weights.vector(info), info.size, 1.0f);
    } else if (ends_with("in_proj_weight")) {
      uniform(std::sqrt(6.0 / static_cast<double>(info.shape[0] + info.shape[1])));
    } else if (info.shape.size() == 2) {
      uniform(1.0 / std::sqrt(static_cast<double>(info.shape[1])));
    } else if (!ends_with("in_proj_bias") && !ends_with("out_proj.bias") && !ends_with("norm1.bias") &&
               !ends_with("norm2.bias")) {
      const ParameterInfo* weight = layout_.find(info.name.substr(0, info.name.size() - 4) + "weight");
      uniform(1.0 / std::sqrt(static_cast<double>(weight->shape[1])));
    }
  }
  return weights;
}

Network::Activations Network::allocate(const Batch& batch, Workspace& workspace) const {
  Activations activations;
  activations.embedding = embedding_.allocate(batch, workspace);
  Matrix input = activations.embedding.h;
  for (const EncoderLayer& layer : layers_) {
    activations.layers.push_back(layer.allocate(batch, input, workspace));
    input = activations.layers.back().output();
    activations.scratch_size = layer.scratch_size(batch);
  }
  if (feature_head_) activations.feature_head = feature_head_->allocate(batch, workspace);
  std::size_t largest_shard = 0;
  for (const Shard& shard : batch.shards) largest_shard = std::max(largest_shard, shard.num_tokens);
  activations.scratch_size += whole_lines(largest_shard * options_.width);
  return activations;
}

void Network::forward(const Pass& pass, const Shard& shard, ConstMatrix positions, Activations& activations,
                      float* scratch) const {
  embedding_.forward(pass, shard, positions, activations.embedding);
  for (std::size_t i = 0; i < layers_.size(); ++i) layers_[i].forward(pass, shard, activations.layers[i], scratch);
}

void Network::backward(const Pass& pass, const Shard& shard, Activations& activations, Matrix d_x,
                       float* scratch) const {
  const Matrix d_context(scratch, shard.num_tokens, options_.width);
  float* rest = scratch + whole_lines(shard.num_tokens * options_.width);
  for (std::size_t i = layers_.size(); i-- > 0;)
    layers_[i].backward(pass, shard, activations.layers[i], d_x, d_context, rest);
  embedding_.backward(pass, shard, activations.embedding, d_x);
}

void Network::gradients(const Activations& activations, GradientTasks& tasks) const {
  for (std::size_t i = 0; i < layers_.size(); ++i) layers_[i].gradients(activations.layers[i], tasks);
  embedding_.gradients(activations.embedding, tasks);
  if (feature_head_) feature_head_->gradients(*activations.feature_head, activations.hidden(), tasks);
}

double Network::training_flops(const Batch& batch) const {
  double forward = 0.0;
  for (const Linear& linear : linears()) {
    forward += 2.0 * static_cast<double>(batch.num_tokens()) * static_cast<double>(linear.inputs) *
               static_cast<double>(linear.outputs);
  }
  for (std::size_t s = 0; s < batch.num_sentences(); ++s) {
    const auto length = static_cast<double>(batch.length(s));
    // Scores and context of all heads of all layers.
    forward += 2.0 * 2.0 * length * length * static_cast<double>(options_.width * options_.layers);
  }
  return 3.0 * forward;
}

}  // namespace semfuse
