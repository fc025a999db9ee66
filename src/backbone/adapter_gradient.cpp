#include "backbone/adapter_gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backbone/backbone_stream_pass.h"
#include "kernels/activations.h"
#include "kernels/attention.h"
#include "kernels/gelu.h"
#include "kernels/rms_norm.h"
#include "kernels/softmax.h"
#include "losses/feature_reconstruction.h"
#include "losses/token_cross_entropy.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr std::size_t kLogitRows = 32;  // Rows whose logits are there at a time.

FeedActivation frozen_activation(BackboneActivation activation) {
  if (activation == BackboneActivation::gelu_tanh) return FeedActivation::gelu_tanh;
  return activation == BackboneActivation::gelu_erf ? FeedActivation::gelu_erf : FeedActivation::relu;
}

void copy_rows(ConstMatrix from, Matrix to) {
  for (std::size_t i = 0; i < from.rows(); ++i) std::copy_n(from.row(i), from.cols(), to.row(i));
}

}  // namespace

std::vector<AdaptedRow> adapted_rows(const Batch& batch, const Shard& shard, const BackboneSpec& spec) {
  std::vector<AdaptedRow> rows;
  for (std::size_t s = shard.first_sentence; s < shard.first_sentence + shard.num_sentences; ++s) {
    const std::span<const float> request = {batch.request_rows().row(s), batch.num_request_columns};
    if (std::ranges::all_of(request, [](float number) { return number == 0.0f; })) continue;
    const std::size_t first = batch.first_token[s];
    const std::size_t length = batch.length(s);
    const bool has_begin = spec.bos || !spec.eos.empty();
    const bool reads_begin =
        spec.adds_bos || (has_begin && (length + static_cast<std::size_t>(batch.targets[first])) % 2 == 0);
    std::size_t position = 0;
    for (std::size_t t = first; t < first + length; ++t) {
      const TokenId input = batch.inputs[t];
      const TokenId target = batch.targets[t];
      if (input == Vocabulary::kBos && !reads_begin) continue;
      if (input == Vocabulary::kEos || target == Vocabulary::kPad) continue;
      if (target == Vocabulary::kEos && spec.eos.empty()) continue;
      if (position == spec.context) {
        throw Error(fmt::format("a text has more than the {} tokens that the model reads; set data.max_length to {}",
                                spec.context, spec.context + 1));
      }
      const TokenId begin = spec.bos ? *spec.bos : has_begin ? spec.eos.front() : 0;
      rows.push_back({.token = input == Vocabulary::kBos ? begin : input - kFirstBackboneToken,
                      .target = target == Vocabulary::kEos ? spec.eos.front() : target - kFirstBackboneToken,
                      .position = position++,
                      .source = t,
                      .sentence = s});
    }
  }
  return rows;
}

// What a layer computes on its way.
struct AdapterGradient::Layer {
  Matrix normed, q, k, v, context, middle, middle_normed, up, gate, inner;
  float* inverse = nullptr;  // Of both norms, [rows].
  float* middle_inverse = nullptr;
  std::array<AdapterWeights::Narrow, Adapter::kSites.size()> narrow;

  const AdapterWeights::Narrow& of(Adapter::Site site) const { return narrow[static_cast<std::size_t>(site)]; }
};

AdapterGradient::AdapterGradient(const Backbone& backbone, const FrozenMaps& maps, const Adapter& adapter,
                                 std::size_t most_bytes)
    : backbone_(backbone),
      maps_(maps),
      adapter_(adapter),
      most_bytes_(most_bytes),
      rotary_(backbone.spec().head_width, backbone.spec().rotary_base) {}

AdapterGradient::~AdapterGradient() = default;

AdapterGradient::Layer AdapterGradient::new_layer() {
  const BackboneSpec& spec = backbone_.spec();
  const std::size_t n = rows_.size();
  const auto matrix = [&](std::size_t cols) { return workspace_.matrix(n, cols); };
  Layer layer;
  for (Matrix* wide : {&layer.normed, &layer.middle, &layer.middle_normed}) *wide = matrix(spec.model_width);
  for (Matrix* query : {&layer.q, &layer.context}) *query = matrix(spec.query_width());
  for (Matrix* key : {&layer.k, &layer.v}) *key = matrix(spec.key_width());
  for (Matrix* hidden : {&layer.up, &layer.inner}) *hidden = matrix(spec.hidden_width);
  if (spec.activation == BackboneActivation::swiglu) layer.gate = matrix(spec.hidden_width);
  layer.inverse = workspace_.floats(n);
  layer.middle_inverse = workspace_.floats(n);
  for (AdapterWeights::Narrow& narrow : layer.narrow) {
    if (adapter_.shape().rank == 0) break;
    for (Matrix* numbers : {&narrow.state, &narrow.factor, &narrow.mixed}) *numbers = matrix(adapter_.shape().rank);
  }
  return layer;
}

// Memory for the shard's rows.
void AdapterGradient::begin(const Batch& batch, const Shard& shard, bool backward) {
  const BackboneSpec& spec = backbone_.spec();
  rows_ = adapted_rows(batch, shard, spec);
  const std::size_t n = rows_.size();
  texts_.clear();
  std::size_t longest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i == 0 || rows_[i].sentence != rows_[i - 1].sentence) texts_.push_back({.first = i, .length = 0});
    longest = std::max(longest, ++texts_.back().length);
  }
  if (spec.positions == BackbonePositions::rotary) rotary_.reserve(longest);
  workspace_.reset();
  const auto matrix = [&](std::size_t cols) { return workspace_.matrix(n, cols); };
  const std::size_t layer_floats = 3 * spec.model_width + 2 * spec.query_width() + 2 * spec.key_width() +
                                   3 * spec.hidden_width + 12 * adapter_.shape().rank;
  recomputes_ = !backward || n * layer_floats * spec.num_layers * sizeof(float) > most_bytes_;
  layers_.clear();
  for (std::size_t i = 0; i < (recomputes_ ? 1 : spec.num_layers); ++i) layers_.push_back(new_layer());
  inputs_.clear();
  for (std::size_t i = 0; i <= spec.num_layers; ++i) inputs_.push_back(matrix(spec.model_width));
  joined_ = matrix(spec.model_width + adapter_.shape().num_fused());
  requests_ =
      joined_.column_range(spec.model_width + adapter_.shape().num_features, adapter_.shape().num_request_columns);
  u_ = matrix(spec.model_width);
  gate_ = matrix(spec.model_width);
  hidden_ = matrix(spec.model_width);
  final_inverse_ = workspace_.floats(n);
  logits_ = workspace_.matrix(std::min(n, kLogitRows), spec.vocab_size);
  scratch_.attention = workspace_.floats(causal_attention_scratch(longest, spec.head_width));
  if (!backward) return;
  d_x_ = matrix(spec.model_width);
  d_hidden_ = matrix(spec.model_width);
  scratch_.d_normed = matrix(spec.model_width);
  scratch_.d_context = matrix(spec.query_width());
  scratch_.d_inner = matrix(spec.hidden_width);
  scratch_.d_q = matrix(spec.query_width());
  scratch_.d_k = matrix(spec.key_width());
  scratch_.d_v = matrix(spec.key_width());
  for (Matrix& head : scratch_.d_head) head = workspace_.matrix(longest, spec.head_width);
  if (adapter_.shape().rank == 0) return;
  scratch_.d_narrow = matrix(adapter_.shape().rank);
  scratch_.d_factor = matrix(adapter_.shape().rank);
}

void AdapterGradient::normalise(ConstMatrix x, const NormWeights& norm, float* inverse, Matrix y) const {
  const auto epsilon = static_cast<float>(backbone_.spec().norm_epsilon);
  if (backbone_.spec().norm == BackboneNorm::rms) {
    rms_norm_forward(x, norm.weight.data(), epsilon, inverse, y);
  } else {
    plain_layer_norm(x, norm.weight.data(), norm.bias.empty() ? nullptr : norm.bias.data(), epsilon, y);
  }
}

void AdapterGradient::normalise_backward(ConstMatrix d_y, ConstMatrix x, const NormWeights& norm, const float* inverse,
                                         bool accumulate, Matrix d_x) const {
  if (backbone_.spec().norm == BackboneNorm::rms) {
    rms_norm_backward(d_y, x, norm.weight.data(), inverse, accumulate, d_x);
  } else {
    plain_layer_norm_backward(d_y, x, norm.weight.data(), static_cast<float>(backbone_.spec().norm_epsilon), accumulate,
                              d_x);
  }
}

void AdapterGradient::embed(const Batch& batch, const AdapterWeights& weights) {
  const BackboneSpec& spec = backbone_.spec();
  const std::size_t num_features = adapter_.shape().num_features;
  std::vector<float> position(spec.model_width);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    float* row = joined_.row(i);
    backbone_.embedding().decode(static_cast<std::size_t>(rows_[i].token), row);
    if (spec.positions == BackbonePositions::learned) {
      backbone_.positions().decode(rows_[i].position, position.data());
      for (std::size_t j = 0; j < spec.model_width; ++j) row[j] += position[j];
    }
    if (num_features > 0) std::copy_n(batch.feature_rows().row(rows_[i].source), num_features, row + spec.model_width);
    std::copy_n(batch.request_rows().row(rows_[i].sentence), requests_.cols(), requests_.row(i));
  }
  weights.fuse(joined_, u_, gate_, inputs_.front());
}

void AdapterGradient::turn(Matrix x, std::size_t num_heads, bool back) const {
  const BackboneSpec& spec = backbone_.spec();
  if (spec.positions != BackbonePositions::rotary) return;
  const bool halves = spec.rotary_pairs == RotaryPairs::halves;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    rotary_.turn(rows_[i].position, halves, back, x.row(i), num_heads);
  }
}

// visit(text, first column of the queries' head, of the keys', whether it is the first that shares these keys)
template <class VisitHead>
void AdapterGradient::for_each_head(const VisitHead& visit) const {
  const BackboneSpec& spec = backbone_.spec();
  const std::size_t group = spec.num_heads / spec.num_key_heads;
  for (const Text& text : texts_) {
    for (std::size_t head = 0; head < spec.num_heads; ++head) {
      visit(text, head * spec.head_width, head / group * spec.head_width, head % group == 0);
    }
  }
}

void AdapterGradient::forward_layer(std::size_t index, const AdapterWeights& weights, Layer& layer) {
  const BackboneSpec& spec = backbone_.spec();
  const BackboneLayer& frozen = backbone_.layers()[index];
  const FrozenLayer& maps = maps_.layers[index];
  const ConstMatrix x = inputs_[index];
  const Matrix y = inputs_[index + 1];
  const auto update = [&](Adapter::Site site, ConstMatrix from, Matrix to) {
    const Adapter::Update* added = adapter_.update(index, site);
    if (added != nullptr) weights.add_update(*added, from, requests_, layer.of(site), to);
  };
  normalise(x, frozen.attention_norm, layer.inverse, layer.normed);
  maps.query.forward(layer.normed, layer.q);
  update(Adapter::Site::query, layer.normed, layer.q);
  maps.key.forward(layer.normed, layer.k);
  maps.value.forward(layer.normed, layer.v);
  update(Adapter::Site::value, layer.normed, layer.v);
  turn(layer.q, spec.num_heads, false);
  turn(layer.k, spec.num_key_heads, false);
  for_each_head([&](const Text& text, std::size_t column, std::size_t key_column, bool) {
    const auto head = [&](Matrix all, std::size_t first) {
      return all.row_range(text.first, text.length).column_range(first, spec.head_width);
    };
    causal_attention(head(layer.q, column), head(layer.k, key_column), head(layer.v, key_column),
                     head(layer.context, column), scratch_.attention);
  });
  maps.output.forward(layer.context, layer.middle);
  add_rows(x, layer.middle);
  normalise(layer.middle, frozen.hidden_norm, layer.middle_inverse, layer.middle_normed);
  maps.up.forward(layer.middle_normed, layer.up);
  update(Adapter::Site::up, layer.middle_normed, layer.up);
  copy_rows(layer.up, layer.inner);
  if (spec.activation == BackboneActivation::swiglu) {
    maps.gate.forward(layer.middle_normed, layer.gate);
    swiglu_forward(layer.gate, layer.inner);
  } else {
    activate_forward(frozen_activation(spec.activation), layer.inner);
  }
  maps.down.forward(layer.inner, y);
  update(Adapter::Site::down, layer.inner, y);
  add_rows(layer.middle, y);
}

void AdapterGradient::backward_attention(const Layer& layer) {
  const std::size_t width = backbone_.spec().head_width;
  for_each_head([&](const Text& text, std::size_t column, std::size_t key_column, bool is_first) {
    const auto head = [&](Matrix all, std::size_t first) {
      return all.row_range(text.first, text.length).column_range(first, width);
    };
    Matrix parts[3];
    for (std::size_t i = 0; i < 3; ++i) parts[i] = scratch_.d_head[i].row_range(0, text.length);
    causal_attention_backward(head(layer.q, column), head(layer.k, key_column), head(layer.v, key_column),
                              head(scratch_.d_context, column), parts[0], parts[1], parts[2], scratch_.attention);
    copy_rows(parts[0], head(scratch_.d_q, column));
    const Matrix shared[2] = {head(scratch_.d_k, key_column), head(scratch_.d_v, key_column)};
    for (std::size_t i = 0; i < 2; ++i) {
      if (is_first) {
        copy_rows(parts[1 + i], shared[i]);
      } else {
        add_rows(parts[1 + i], shared[i]);
      }
    }
  });
  turn(scratch_.d_q, backbone_.spec().num_heads, true);
  turn(scratch_.d_k, backbone_.spec().num_key_heads, true);
}

// y += W_b (state ∘ factor), state = W_a x + b_a, factor = W_m request + b_m
void AdapterGradient::backward_update(std::size_t index, Adapter::Site site, const AdapterWeights& weights,
                                      const Layer& layer, ConstMatrix d_y, ConstMatrix x, Matrix d_x,
                                      ParameterBlock& gradients) {
  const Adapter::Update* update = adapter_.update(index, site);
  if (update == nullptr) return;
  const AdapterWeights::Narrow& narrow = layer.of(site);
  weights.packed().backward(update->widen, d_y, scratch_.d_narrow, false);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    for (std::size_t j = 0; j < narrow.state.cols(); ++j) {
      scratch_.d_factor(i, j) = scratch_.d_narrow(i, j) * narrow.state(i, j);
      scratch_.d_narrow(i, j) *= narrow.factor(i, j);
    }
  }
  weights.packed().backward(update->narrow, scratch_.d_narrow, d_x, true);
  GradientTasks tasks(adapter_.layout(), gradients, /*accumulate=*/false);
  tasks.add(update->widen, d_y, narrow.mixed);
  tasks.add(update->narrow, scratch_.d_narrow, x);
  tasks.add(update->request, scratch_.d_factor, requests_);
  tasks.run(alone_);
}

void AdapterGradient::backward_layer(std::size_t index, const AdapterWeights& weights, Layer& layer,
                                     ParameterBlock& gradients) {
  const BackboneSpec& spec = backbone_.spec();
  const BackboneLayer& frozen = backbone_.layers()[index];
  const FrozenLayer& maps = maps_.layers[index];
  const auto update = [&](Adapter::Site site, ConstMatrix d_y, ConstMatrix x, Matrix d_x) {
    backward_update(index, site, weights, layer, d_y, x, d_x, gradients);
  };
  // y = middle + down(inner)
  maps.down.backward(d_x_, scratch_.d_inner, false);
  update(Adapter::Site::down, d_x_, layer.inner, scratch_.d_inner);
  const bool gated = spec.activation == BackboneActivation::swiglu;
  if (gated) {
    swiglu_backward(scratch_.d_inner, layer.gate, layer.up);
  } else {
    activate_backward(frozen_activation(spec.activation), layer.up, scratch_.d_inner);
  }
  const Matrix d_up = gated ? layer.up : scratch_.d_inner;
  maps.up.backward(d_up, scratch_.d_normed, false);
  update(Adapter::Site::up, d_up, layer.middle_normed, scratch_.d_normed);
  if (gated) maps.gate.backward(layer.gate, scratch_.d_normed, true);
  normalise_backward(scratch_.d_normed, layer.middle, frozen.hidden_norm, layer.middle_inverse, true, d_x_);
  // middle = x + output(context)
  maps.output.backward(d_x_, scratch_.d_context, false);
  backward_attention(layer);
  maps.query.backward(scratch_.d_q, scratch_.d_normed, false);
  update(Adapter::Site::query, scratch_.d_q, layer.normed, scratch_.d_normed);
  maps.key.backward(scratch_.d_k, scratch_.d_normed, true);
  maps.value.backward(scratch_.d_v, scratch_.d_normed, true);
  update(Adapter::Site::value, scratch_.d_v, layer.normed, scratch_.d_normed);
  normalise_backward(scratch_.d_normed, inputs_[index], frozen.attention_norm, layer.inverse, true, d_x_);
}

void AdapterGradient::forward(const Batch& batch, const AdapterWeights& weights) {
  embed(batch, weights);
  const std::size_t num_layers = backbone_.spec().num_layers;
  for (std::size_t i = 0; i < num_layers; ++i) forward_layer(i, weights, layers_[recomputes_ ? 0 : i]);
  normalise(inputs_.back(), backbone_.final_norm(), final_inverse_, hidden_);
}

// The first token that ends texts gets the probability of all, the others none, as generation has it.
void AdapterGradient::merge_ends(Matrix logits) {
  const std::vector<TokenId>& ends = backbone_.spec().eos;
  end_shares_.clear();
  if (ends.size() < 2) return;
  std::vector<float> row(ends.size());
  for (std::size_t i = 0; i < logits.rows(); ++i) {
    for (std::size_t e = 0; e < ends.size(); ++e) row[e] = logits(i, static_cast<std::size_t>(ends[e]));
    const float sum = log_sum_exp(row.data(), row.size());
    for (std::size_t e = 0; e < ends.size(); ++e) {
      end_shares_.push_back(std::exp(row[e] - sum));
      logits(i, static_cast<std::size_t>(ends[e])) = kNeverLogit;
    }
    logits(i, static_cast<std::size_t>(ends.front())) = sum;
  }
}

void AdapterGradient::split_ends(Matrix d_logits) const {
  const std::vector<TokenId>& ends = backbone_.spec().eos;
  if (ends.size() < 2) return;
  for (std::size_t i = 0; i < d_logits.rows(); ++i) {
    const float whole = d_logits(i, static_cast<std::size_t>(ends.front()));
    for (std::size_t e = 0; e < ends.size(); ++e) {
      d_logits(i, static_cast<std::size_t>(ends[e])) = whole * end_shares_[i * ends.size() + e];
    }
  }
}

double AdapterGradient::backward_head(float per_position) {
  double sum = 0.0;
  std::vector<TokenId> targets;
  for (std::size_t first = 0; first < rows_.size(); first += kLogitRows) {
    const std::size_t count = std::min(kLogitRows, rows_.size() - first);
    const Matrix logits = logits_.row_range(0, count);
    targets.clear();
    for (std::size_t i = first; i < first + count; ++i) targets.push_back(rows_[i].target);
    maps_.head.forward(hidden_.row_range(first, count), logits);
    merge_ends(logits);
    sum += token_cross_entropy(logits, targets, /*smoothing=*/0.0, per_position);
    split_ends(logits);
    maps_.head.backward(logits, d_hidden_.row_range(first, count), false);
  }
  return sum;
}

double AdapterGradient::backward_features(const Batch& batch, const AdapterWeights& weights,
                                          const ParameterBlock& numbers, float scale, ParameterBlock& gradients) {
  if (!adapter_.feature_head()) return 0.0;
  const FeatureHead& head = *adapter_.feature_head();
  const Shard all{.num_tokens = rows_.size()};
  Batch rows;
  rows.inputs.resize(rows_.size());
  const Pass pass{.batch = rows,
                  .layout = adapter_.layout(),
                  .weights = numbers,
                  .packed = weights.packed(),
                  .attention = AttentionMask::causal,
                  .dropout = {}};
  FeatureHead::Cache cache = head.allocate(rows, workspace_);
  const Matrix features = workspace_.matrix(rows_.size(), adapter_.shape().num_features);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::copy_n(batch.feature_rows().row(rows_[i].source), features.cols(), features.row(i));
  }
  head.forward(pass, all, hidden_, cache);
  const double sum = feature_reconstruction(cache.logits, features, scale);
  head.backward(pass, all, cache, d_hidden_);
  GradientTasks tasks(adapter_.layout(), gradients, /*accumulate=*/false);
  head.gradients(cache, hidden_, tasks);
  tasks.run(alone_);
  return sum;
}

AdapterLosses AdapterGradient::run(const Batch& batch, const Shard& shard, const AdapterWeights& weights,
                                   const ParameterBlock& numbers, const Options& options, ParameterBlock& gradients) {
  begin(batch, shard, /*backward=*/true);
  AdapterLosses losses{.positions = static_cast<double>(rows_.size())};
  if (rows_.empty()) {
    std::fill_n(gradients.data(), gradients.size(), 0.0f);
    return losses;
  }
  forward(batch, weights);
  losses.tokens = backward_head(options.per_position);
  losses.features = backward_features(batch, weights, numbers,
                                      static_cast<float>(options.feature_loss) * options.per_position, gradients);
  normalise_backward(d_hidden_, inputs_.back(), backbone_.final_norm(), final_inverse_, false, d_x_);
  for (std::size_t i = backbone_.spec().num_layers; i-- > 0;) {
    Layer& layer = layers_[recomputes_ ? 0 : i];
    if (recomputes_) forward_layer(i, weights, layer);
    backward_layer(i, weights, layer, gradients);
  }
  GradientTasks tasks(adapter_.layout(), gradients, /*accumulate=*/false);
  const ConstMatrix fused = joined_.column_range(adapter_.width(), adapter_.shape().num_fused());
  if (adapter_.gate()) {
    fuse_backward(d_x_, u_, gate_);
    tasks.add(*adapter_.gate(), gate_, joined_);
    tasks.add(adapter_.projection(), u_, fused);
  } else {
    tasks.add(adapter_.projection(), d_x_, fused);
  }
  tasks.run(alone_);
  return losses;
}

void AdapterGradient::predict(const Batch& batch, const Shard& shard, const AdapterWeights& weights,
                              const Visit& visit) {
  begin(batch, shard, /*backward=*/false);
  if (rows_.empty()) return;
  forward(batch, weights);
  for (std::size_t first = 0; first < rows_.size(); first += kLogitRows) {
    const std::size_t count = std::min(kLogitRows, rows_.size() - first);
    const Matrix logits = logits_.row_range(0, count);
    maps_.head.forward(hidden_.row_range(first, count), logits);
    merge_ends(logits);
    visit(std::span(rows_).subspan(first, count), logits);
  }
}

}  // namespace semfuse
