#include "model/key_value_cache.h"

namespace semfuse {

void KeyValueCache::reserve(std::size_t length) {
  if (length <= capacity_) return;
  const std::size_t capacity = std::max<std::size_t>({length, 2 * capacity_, 32});
  for (AlignedFloats& layer : layers_) {
    AlignedFloats grown(capacity * 2 * width_);
    std::copy_n(layer.data(), length_ * 2 * width_, grown.data());
    layer = std::move(grown);
  }
  capacity_ = capacity;
}

}  // namespace semfuse
