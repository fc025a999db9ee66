#include "backbone/backbone_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "kernels/activations.h"
#include "kernels/gelu.h"
#include "kernels/grouped_attention.h"
#include "kernels/rms_norm.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr std::size_t kRowsOfPass = 256;    // Rows that go through the layers together.
constexpr std::size_t kRowsOfTask = 8;      // Of elementwise work.
constexpr std::size_t kOutputsOfTask = 32;  // Of a product; at least what multiply_stored() asks for.

void add_bias(const std::vector<float>& bias, Matrix y) {
  if (bias.empty()) return;
  for (std::size_t i = 0; i < y.rows(); ++i) {
    float* row = y.row(i);
    for (std::size_t j = 0; j < y.cols(); ++j) row[j] += bias[j];
  }
}

FeedActivation feed_activation(BackboneActivation activation) {
  switch (activation) {
    case BackboneActivation::gelu_tanh:
      return FeedActivation::gelu_tanh;
    case BackboneActivation::gelu_erf:
      return FeedActivation::gelu_erf;
    default:
      return FeedActivation::relu;
  }
}

}  // namespace

BackbonePass::BackbonePass(const Backbone& backbone, std::size_t num_threads, const AdapterWeights* adapter)
    : backbone_(backbone),
      adapter_(adapter),
      pool_(num_threads),
      rotary_(backbone.spec().head_width, backbone.spec().rotary_base) {}

KeyValueCache BackbonePass::make_cache() const {
  const BackboneSpec& spec = backbone_.spec();
  return {spec.num_layers, spec.key_width(), kGroupedKeyBlock};
}

template <class Body>
void BackbonePass::for_row_blocks(std::size_t rows, const Body& body) {
  if (rows <= kRowsOfTask) {
    body(std::size_t{0}, rows);
    return;
  }
  pool_.run((rows + kRowsOfTask - 1) / kRowsOfTask, [&](std::size_t task, std::size_t) {
    const std::size_t first = task * kRowsOfTask;
    body(first, std::min(kRowsOfTask, rows - first));
  });
}

void BackbonePass::normalise(ConstMatrix x, const NormWeights& weights, std::size_t first, std::size_t count,
                             Matrix y) const {
  const auto epsilon = static_cast<float>(backbone_.spec().norm_epsilon);
  const ConstMatrix from = x.row_range(first, count);
  const Matrix to = y.row_range(first, count);
  if (backbone_.spec().norm == BackboneNorm::rms) {
    rms_norm_forward(from, weights.weight.data(), epsilon, nullptr, to);
  } else {
    plain_layer_norm(from, weights.weight.data(), weights.bias.empty() ? nullptr : weights.bias.data(), epsilon, to);
  }
}

void BackbonePass::multiply(ConstMatrix x, std::span<const Product> products) {
  const auto quantised = [](const Product& product) { return reads_quantised(product.map->weight.type); };
  if (std::ranges::any_of(products, quantised)) {
    quantised_.resize(x.rows(), x.cols());
    for_row_blocks(x.rows(), [&](std::size_t first, std::size_t count) { quantised_.quantise(x, first, count); });
  }
  std::size_t num_tasks = 0;
  const auto tasks_of = [](const Product& product) {
    return (product.map->weight.rows + kOutputsOfTask - 1) / kOutputsOfTask;
  };
  for (const Product& product : products) num_tasks += tasks_of(product);
  pool_.run(num_tasks, [&](std::size_t task, std::size_t) {
    const Product* product = products.data();
    while (task >= tasks_of(*product)) task -= tasks_of(*product++);
    const StoredMatrix& weight = product->map->weight;
    const std::size_t first = task * kOutputsOfTask;
    multiply_stored(weight, first, std::min(kOutputsOfTask, weight.rows - first), x, quantised_, product->y);
  });
  for (const Product& product : products) add_bias(product.map->bias, product.y);
}

void BackbonePass::embed(std::span<const Row> rows, Matrix x) {
  std::vector<float> position(x.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    backbone_.embedding().decode(static_cast<std::size_t>(rows[i].token), x.row(i));
    if (backbone_.spec().positions != BackbonePositions::learned) continue;
    backbone_.positions().decode(rows[i].position, position.data());
    for (std::size_t j = 0; j < x.cols(); ++j) x(i, j) += position[j];
  }
}

template <class Body>
void BackbonePass::for_stated_blocks(const Body& body) {
  if (stated_.size() == 1) {
    body(stated_.front().first, stated_.front().count);
    return;
  }
  pool_.run(stated_.size(), [&](std::size_t i, std::size_t) { body(stated_[i].first, stated_[i].count); });
}

void BackbonePass::fuse(std::span<const Row> rows, Matrix x) {
  stated_.clear();
  for (std::size_t i = 0; i < rows.size() && adapter_ != nullptr; ++i) {
    if (rows[i].read->request.empty()) continue;
    const bool goes_on =
        !stated_.empty() && stated_.back().first + stated_.back().count == i && stated_.back().count < kRowsOfTask;
    if (!goes_on) stated_.push_back({.first = i, .count = 0});
    ++stated_.back().count;
  }
  if (stated_.empty()) return;
  const AdapterShape& shape = adapter_->adapter().shape();
  const Matrix joined = layer_workspace_.matrix(rows.size(), x.cols() + shape.num_fused());
  const Matrix u = layer_workspace_.matrix(rows.size(), x.cols());
  const Matrix gate = layer_workspace_.matrix(rows.size(), x.cols());
  requests_ = joined.column_range(x.cols() + shape.num_features, shape.num_request_columns);
  for (Matrix* numbers : {&narrow_.state, &narrow_.factor, &narrow_.mixed}) {
    *numbers = layer_workspace_.matrix(rows.size(), shape.rank);
  }
  for_stated_blocks([&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      const BackboneRead& read = *rows[i].read;
      assert(read.request.size() == shape.num_request_columns);
      std::copy_n(x.row(i), x.cols(), joined.row(i));
      if (shape.num_features > 0) {
        std::copy_n(read.features.row(rows[i].index), shape.num_features, joined.row(i) + x.cols());
      }
      std::copy_n(read.request.data(), read.request.size(), requests_.row(i));
    }
    adapter_->fuse(joined.row_range(first, count), u.row_range(first, count), gate.row_range(first, count),
                   x.row_range(first, count));
  });
}

void BackbonePass::update(std::size_t layer, Adapter::Site site, ConstMatrix x, Matrix y) {
  const Adapter::Update* added = stated_.empty() ? nullptr : adapter_->adapter().update(layer, site);
  if (added == nullptr) return;
  for_stated_blocks([&](std::size_t first, std::size_t count) {
    const AdapterWeights::Narrow narrow = {.state = narrow_.state.row_range(first, count),
                                           .factor = narrow_.factor.row_range(first, count),
                                           .mixed = narrow_.mixed.row_range(first, count)};
    adapter_->add_update(*added, x.row_range(first, count), requests_.row_range(first, count), narrow,
                         y.row_range(first, count));
  });
}

void BackbonePass::attend(std::span<const Row> rows, std::size_t layer, Matrix q, Matrix k, Matrix v, Matrix context) {
  const BackboneSpec& spec = backbone_.spec();
  const bool halves = spec.rotary_pairs == RotaryPairs::halves;
  for_row_blocks(rows.size(), [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      if (spec.positions == BackbonePositions::rotary) {
        rotary_.turn(rows[i].position, halves, /*back=*/false, q.row(i), spec.num_heads);
        rotary_.turn(rows[i].position, halves, /*back=*/false, k.row(i), spec.num_key_heads);
      }
      rows[i].read->cache->store(layer, rows[i].position, k.row(i), v.row(i));
    }
  });
  struct Task {
    std::size_t first;
    std::size_t count;
    std::size_t head;
  };
  std::vector<Task> tasks;
  std::size_t longest = 0;
  std::size_t work = 0;
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t count = 1;
    while (count < kGroupedQueryBlock && first + count < rows.size() && rows[first + count].read == rows[first].read) {
      ++count;
    }
    const std::size_t length = rows[first + count - 1].position + 1;
    longest = std::max(longest, length);
    work += count * length;
    for (std::size_t head = 0; head < spec.num_key_heads; ++head) tasks.push_back({first, count, head});
    first += count;
  }
  const std::size_t group = spec.num_heads / spec.num_key_heads;
  const std::size_t scratch_size = whole_lines(grouped_attention_scratch(longest));
  if (attention_scratch_.size() < scratch_size * pool_.num_threads()) {
    attention_scratch_ = AlignedFloats(scratch_size * pool_.num_threads());
  }
  float* scratch = attention_scratch_.data();
  const auto run = [&](std::size_t index, std::size_t worker) {
    const auto [first, count, head] = tasks[index];
    const std::size_t position = rows[first].position;
    KeyValueCache& cache = *rows[first].read->cache;
    const std::size_t column = head * group * spec.head_width;
    grouped_attention(q.row_range(first, count).column_range(column, group * spec.head_width),
                      cache.keys(layer) + head * spec.head_width * kGroupedKeyBlock, spec.key_width(),
                      cache.values(layer, position + count).column_range(head * spec.head_width, spec.head_width),
                      position, group, context.row_range(first, count).column_range(column, group * spec.head_width),
                      scratch + worker * scratch_size);
  };
  constexpr std::size_t kLittleWork = 64;  // Less than it takes to wake a thread.
  if (work <= kLittleWork) {
    for (std::size_t i = 0; i < tasks.size(); ++i) run(i, 0);
  } else {
    pool_.run(tasks.size(), run);
  }
}

Matrix BackbonePass::run_layers(std::span<const Row> rows) {
  const BackboneSpec& spec = backbone_.spec();
  const std::size_t n = rows.size();
  layer_workspace_.reset();
  const Matrix x = layer_workspace_.matrix(n, spec.model_width);
  const Matrix normed = layer_workspace_.matrix(n, spec.model_width);
  const Matrix branch = layer_workspace_.matrix(n, spec.model_width);
  const Matrix q = layer_workspace_.matrix(n, spec.query_width());
  const Matrix k = layer_workspace_.matrix(n, spec.key_width());
  const Matrix v = layer_workspace_.matrix(n, spec.key_width());
  const Matrix context = layer_workspace_.matrix(n, spec.query_width());
  const Matrix up = layer_workspace_.matrix(n, spec.hidden_width);
  const Matrix gate = layer_workspace_.matrix(n, spec.hidden_width);
  const bool gated = spec.activation == BackboneActivation::swiglu;
  embed(rows, x);
  fuse(rows, x);
  const auto norm = [&](const NormWeights& weights) {
    for_row_blocks(n, [&](std::size_t first, std::size_t count) { normalise(x, weights, first, count, normed); });
  };
  const auto add_branch = [&] {
    for_row_blocks(n, [&](std::size_t first, std::size_t count) {
      add_rows(branch.row_range(first, count), x.row_range(first, count));
    });
  };
  for (std::size_t i = 0; i < spec.num_layers; ++i) {
    const BackboneLayer& layer = backbone_.layers()[i];
    norm(layer.attention_norm);
    multiply(normed, std::array{Product{&layer.query, q}, Product{&layer.key, k}, Product{&layer.value, v}});
    update(i, Adapter::Site::query, normed, q);
    update(i, Adapter::Site::value, normed, v);
    attend(rows, i, q, k, v, context);
    multiply(context, std::array{Product{&layer.output, branch}});
    add_branch();
    norm(layer.hidden_norm);
    if (gated) {
      multiply(normed, std::array{Product{&layer.up, up}, Product{&layer.gate, gate}});
    } else {
      multiply(normed, std::array{Product{&layer.up, up}});
    }
    update(i, Adapter::Site::up, normed, up);
    for_row_blocks(n, [&](std::size_t first, std::size_t count) {
      if (gated) {
        swiglu_forward(gate.row_range(first, count), up.row_range(first, count));
      } else {
        activate_forward(feed_activation(spec.activation), up.row_range(first, count));
      }
    });
    multiply(up, std::array{Product{&layer.down, branch}});
    update(i, Adapter::Site::down, up, branch);
    add_branch();
  }
  return x;
}

Matrix BackbonePass::run(std::span<const BackboneRead> reads) {
  const ConstMatrix wanted = states(reads);
  const Matrix logits = workspace_.matrix(wanted.rows(), backbone_.spec().vocab_size);
  if (wanted.rows() > 0) {
    const StoredLinear head{.weight = backbone_.head(), .bias = {}};
    multiply(wanted, std::array{Product{&head, logits}});
  }
  return logits;
}

ConstMatrix BackbonePass::states(std::span<const BackboneRead> reads) {
  const BackboneSpec& spec = backbone_.spec();
  std::vector<Row> rows;
  std::vector<std::size_t> wanted;  // Places in rows.
  for (const BackboneRead& read : reads) {
    const std::size_t before = read.cache->length();
    const std::size_t length = before + read.tokens.size();
    assert(!read.tokens.empty() && read.num_wanted <= read.tokens.size());
    if (length > spec.context) {
      throw Error(fmt::format("the text has {} tokens and the model reads {} at most; shorten it or ask for fewer",
                              length, spec.context));
    }
    read.cache->reserve(length);
    rotary_.reserve(spec.positions == BackbonePositions::rotary ? length : 0);
    for (std::size_t t = 0; t < read.tokens.size(); ++t) {
      assert(read.tokens[t] >= 0 && static_cast<std::size_t>(read.tokens[t]) < spec.vocab_size);
      if (t + read.num_wanted >= read.tokens.size()) wanted.push_back(rows.size());
      rows.push_back({&read, before + t, read.tokens[t], t});
    }
    read.cache->set_length(length);
  }
  workspace_.reset();
  const Matrix states = workspace_.matrix(wanted.size(), spec.model_width);
  std::size_t next = 0;
  for (std::size_t first = 0; first < rows.size(); first += kRowsOfPass) {
    const auto part = std::span(rows).subspan(first, std::min(kRowsOfPass, rows.size() - first));
    const Matrix x = run_layers(part);
    for (; next < wanted.size() && wanted[next] < first + part.size(); ++next) {
      std::copy_n(x.row(wanted[next] - first), x.cols(), states.row(next));
    }
  }
  for_row_blocks(wanted.size(), [&](std::size_t first, std::size_t count) {
    normalise(states, backbone_.final_norm(), first, count, states);
  });
  hidden_ = states;
  return hidden_;
}

}  // namespace semfuse
