#include "model/key_value_cache.h"

#include <algorithm>

namespace semfuse {

void KeyValueCache::reserve(std::size_t length) {
  if (length <= capacity_) return;
  KeyValueCache grown(layers_.size(), width_);
  grown.capacity_ = whole_lines(std::max<std::size_t>({length, 2 * capacity_, 32}));
  grown.length_ = length_;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    grown.layers_[layer] = AlignedFloats(2 * grown.capacity_ * width_);
    for (std::size_t i = 0; i < width_; ++i) {
      std::copy_n(keys(layer).row(i), length_, grown.keys(layer).row(i));
    }
    std::copy_n(values(layer).data(), length_ * width_, grown.values(layer).data());
  }
  *this = std::move(grown);
}

}  // namespace semfuse
