// A backbone's maps as gradients are computed through them: single precision, packed for both directions.
#pragma once

#include <cstddef>
#include <vector>

#include "backbone/backbone.h"
#include "core/thread_pool.h"
#include "model/linear.h"

namespace semfuse {

// y = x · Wᵀ + b, whose W and b do not change.
class FrozenMap {
 public:
  FrozenMap() = default;
  explicit FrozenMap(const StoredLinear& map);

  void forward(ConstMatrix x, Matrix y) const;
  // d_x (+)= d_y · W
  void backward(ConstMatrix d_y, Matrix d_x, bool accumulate) const;

 private:
  PackedMap packed() const;

  std::size_t outputs_ = 0;
  std::size_t inputs_ = 0;
  std::vector<float> bias_;
  AlignedFloats numbers_;
};

struct FrozenLayer {
  FrozenMap query, key, value, output, up, gate, down;
};

// Takes eight bytes for each number of a map. Immutable.
struct FrozenMaps {
  FrozenMaps(const Backbone& backbone, ThreadPool& pool);

  std::vector<FrozenLayer> layers;
  FrozenMap head;
};

}  // namespace semfuse
