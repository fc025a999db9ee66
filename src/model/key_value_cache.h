// Keys and values of the tokens that a sentence has so far, so that a causal model need not compute them again.
#pragma once

#include <cstddef>
#include <vector>

#include "core/matrix_view.h"
#include "core/workspace.h"

namespace semfuse {

class KeyValueCache {
 public:
  KeyValueCache(std::size_t num_layers, std::size_t width) : layers_(num_layers), width_(width) {}

  std::size_t length() const { return length_; }  // Tokens whose keys and values are known in every layer.
  void set_length(std::size_t length) { length_ = length; }

  // Room for `length` tokens; what was stored is kept.
  void reserve(std::size_t length);

  // [width, capacity]: a column for each token, as products with queries read them.
  Matrix keys(std::size_t layer) { return {layers_[layer].data(), width_, capacity_}; }
  // [capacity, width]
  Matrix values(std::size_t layer) { return {layers_[layer].data() + width_ * capacity_, capacity_, width_}; }

 private:
  std::vector<AlignedFloats> layers_;
  std::size_t width_;
  std::size_t capacity_ = 0;  // A multiple of 16.
  std::size_t length_ = 0;
};

}  // namespace semfuse
