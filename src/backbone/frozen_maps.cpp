#include "backbone/frozen_maps.h"

#include <utility>

namespace semfuse {

FrozenMap::FrozenMap(const StoredLinear& map)
    : outputs_(map.weight.rows),
      inputs_(map.weight.cols),
      bias_(map.bias),
      numbers_(PackedMap::size(map.weight.rows, map.weight.cols, map.weight.cols)) {
  std::vector<float> weight(outputs_ * inputs_);
  for (std::size_t i = 0; i < outputs_; ++i) map.weight.decode(i, weight.data() + i * inputs_);
  const PackedMap target = packed();
  for (std::size_t i = 0; i < target.num_tasks(); ++i) target.pack({weight.data(), outputs_, inputs_}, i);
}

PackedMap FrozenMap::packed() const {
  return {outputs_, inputs_, inputs_, const_cast<float*>(numbers_.data())};  // Only pack() writes.
}

void FrozenMap::forward(ConstMatrix x, Matrix y) const {
  packed().forward(x, y, {.bias = bias_.empty() ? nullptr : bias_.data()});
}

void FrozenMap::backward(ConstMatrix d_y, Matrix d_x, bool accumulate) const {
  packed().backward(d_y, d_x, accumulate);
}

FrozenMaps::FrozenMaps(const Backbone& backbone, ThreadPool& pool) : layers(backbone.spec().num_layers) {
  std::vector<std::pair<const StoredLinear*, FrozenMap*>> maps;
  for (std::size_t n = 0; n < layers.size(); ++n) {
    const BackboneLayer& from = backbone.layers()[n];
    FrozenLayer& to = layers[n];
    maps.insert(maps.end(), {{&from.query, &to.query},
                             {&from.key, &to.key},
                             {&from.value, &to.value},
                             {&from.output, &to.output},
                             {&from.up, &to.up},
                             {&from.down, &to.down}});
    if (backbone.spec().activation == BackboneActivation::swiglu) maps.emplace_back(&from.gate, &to.gate);
  }
  const StoredLinear stored_head{.weight = backbone.head(), .bias = {}};
  maps.emplace_back(&stored_head, &head);
  pool.run(maps.size(), [&](std::size_t i, std::size_t) { *maps[i].second = FrozenMap(*maps[i].first); });
}

}  // namespace semfuse
