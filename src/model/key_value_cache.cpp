#include "model/key_value_cache.h"

#include <algorithm>
#include <cassert>

namespace semfuse {

void KeyValueCache::reserve(std::size_t length) {
  if (length <= capacity_) return;
  const std::size_t capacity = whole_lines(std::max<std::size_t>({length, 2 * capacity_, 32}));
  for (AlignedFloats& layer : layers_) {
    AlignedFloats grown(2 * capacity * width_);
    std::copy_n(layer.data(), capacity_ * width_, grown.data());
    std::copy_n(layer.data() + capacity_ * width_, capacity_ * width_, grown.data() + capacity * width_);
    layer = std::move(grown);
  }
  capacity_ = capacity;
}

void KeyValueCache::store(std::size_t layer, std::size_t token, const float* key, const float* value) {
  assert(token < capacity_);
  float* column = layers_[layer].data() + first_of_key(token);
  for (std::size_t i = 0; i < width_; ++i) column[i * key_block_] = key[i];
  std::copy_n(value, width_, layers_[layer].data() + (capacity_ + token) * width_);
}

std::span<float> KeyValueCache::key_blocks(std::size_t layer, std::size_t length) {
  return {keys(layer), (length + key_block_ - 1) / key_block_ * key_block_ * width_};
}

void KeyValueCache::load(std::size_t layer, std::size_t token, float* key, float* value) const {
  const float* column = keys(layer) + first_of_key(token);
  for (std::size_t i = 0; i < width_; ++i) key[i] = column[i * key_block_];
  std::copy_n(values(layer, token + 1).row(token), width_, value);
}

void KeyValueCache::read_token(std::size_t token, std::span<float> numbers) const {
  assert(numbers.size() == token_size());
  float* target = numbers.data();
  for (std::size_t layer = 0; layer < layers_.size(); ++layer, target += 2 * width_) {
    load(layer, token, target, target + width_);
  }
}

void KeyValueCache::write_token(std::size_t token, std::span<const float> numbers) {
  assert(numbers.size() == token_size());
  const float* source = numbers.data();
  for (std::size_t layer = 0; layer < layers_.size(); ++layer, source += 2 * width_) {
    store(layer, token, source, source + width_);
  }
}

}  // namespace semfuse
