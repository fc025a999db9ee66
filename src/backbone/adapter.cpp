#include "backbone/adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "kernels/activations.h"

namespace semfuse {

namespace {

constexpr double kRequestSpread = 0.5;  // Of what requests say at first; 1 is what all directions begin at.

struct SiteSizes {
  std::string_view name;
  std::size_t inputs;
  std::size_t outputs;
};

SiteSizes sizes_of(Adapter::Site site, const BackboneSpec& spec) {
  switch (site) {
    case Adapter::Site::query:
      return {"query", spec.model_width, spec.query_width()};
    case Adapter::Site::value:
      return {"value", spec.model_width, spec.key_width()};
    case Adapter::Site::up:
      return {"up", spec.model_width, spec.hidden_width};
    default:
      return {"down", spec.hidden_width, spec.model_width};
  }
}

}  // namespace

Adapter::Adapter(const BackboneSpec& spec, const AdapterShape& shape)
    : shape_(shape),
      width_(spec.model_width),
      projection_(linears_.add("sem_proj", shape.num_fused(), spec.model_width, 0)) {
  if (shape.gate) gate_ = linears_.add("gate", spec.model_width + shape.num_fused(), spec.model_width, 0);
  if (shape.num_features > 0) feature_head_.emplace(linears_, spec.model_width, shape.feature_head, shape.num_features);
  if (shape.rank == 0) return;
  for (std::size_t layer = 0; layer < spec.num_layers; ++layer) {
    auto& updates = updates_.emplace_back();
    for (const Site site : kSites) {
      const auto [site_name, inputs, outputs] = sizes_of(site, spec);
      const std::string name = fmt::format("layers.{}.{}.", layer, site_name);
      Update& update = updates[static_cast<std::size_t>(site)];
      update.narrow = linears_.add(name + "narrow", inputs, shape.rank, inputs);
      update.request = linears_.add(name + "request", shape.num_request_columns, shape.rank, 0);
      update.widen = linears_.add(layout_.add(name + "widen.weight", {outputs, shape.rank}), std::nullopt, shape.rank);
    }
  }
}

ParameterBlock Adapter::initial_weights(std::uint64_t seed) const {
  InitialWeights weights(layout_, seed, InitialWeights::Layers::different);
  if (gate_) weights.draw(*gate_);
  if (feature_head_) feature_head_->initialise(weights);
  for (const auto& updates : updates_) {
    for (const Update& update : updates) {
      weights.draw(update.narrow);
      weights.normal(update.request.weight, kRequestSpread);
      weights.fill(*update.request.bias, 1.0f);
    }
  }
  return weights.take();
}

const Adapter::Update* Adapter::update(std::size_t layer, Site site) const {
  return updates_.empty() ? nullptr : &updates_[layer][static_cast<std::size_t>(site)];
}

void AdapterWeights::fuse(ConstMatrix joined, Matrix u, Matrix gate, Matrix h) const {
  const std::size_t width = adapter_.width();
  packed_.forward(adapter_.projection(), joined.column_range(width, adapter_.shape().num_fused()), u);
  const ConstMatrix x = joined.column_range(0, width);
  if (adapter_.gate()) {
    packed_.forward(*adapter_.gate(), joined, gate);
    fuse_forward(x, u, gate, h);
    return;
  }
  for (std::size_t i = 0; i < x.rows(); ++i) std::copy_n(x.row(i), width, h.row(i));
  add_rows(u, h);
}

void AdapterWeights::add_update(const Adapter::Update& update, ConstMatrix x, ConstMatrix requests,
                                const Narrow& narrow, Matrix y) const {
  packed_.forward(update.narrow, x, narrow.state);
  packed_.forward(update.request, requests, narrow.factor);
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t j = 0; j < narrow.state.cols(); ++j) {
      narrow.mixed(i, j) = narrow.state(i, j) * narrow.factor(i, j);
    }
  }
  packed_.add_forward(update.widen, narrow.mixed, y);
}

}  // namespace semfuse
