// Keys and values of the tokens that a sentence has so far, so that a causal model need not compute them again.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/matrix_view.h"
#include "core/workspace.h"
#include "kernels/attention.h"

namespace semfuse {

class KeyValueCache {
 public:
  // Keys of `key_block` tokens lie side by side, as attention reads them: kKeyBlock for attention_over_keys().
  KeyValueCache(std::size_t num_layers, std::size_t width, std::size_t key_block = kKeyBlock)
      : layers_(num_layers), width_(width), key_block_(key_block) {}

  std::size_t length() const { return length_; }  // Tokens whose keys and values are known in every layer.
  void set_length(std::size_t length) { length_ = length; }

  // Room for `length` tokens; what was stored is kept.
  void reserve(std::size_t length);

  // Stores what a token has in one layer; there must be room for it.
  void store(std::size_t layer, std::size_t token, const float* key, const float* value);
  void load(std::size_t layer, std::size_t token, float* key, float* value) const;

  // In blocks: column i of a token's key is i * key_block behind its first.
  const float* keys(std::size_t layer) const { return layers_[layer].data(); }
  // Of the first `length` tokens: [length, width]
  ConstMatrix values(std::size_t layer, std::size_t length) const {
    return {layers_[layer].data() + width_ * capacity_, length, width_};
  }
  // The same to be written.
  float* keys(std::size_t layer) { return layers_[layer].data(); }
  Matrix values(std::size_t layer, std::size_t length) {
    return {layers_[layer].data() + width_ * capacity_, length, width_};
  }
  // All keys of the first `length` tokens, in whole blocks.
  std::span<float> key_blocks(std::size_t layer, std::size_t length);

  // What a token has in all layers, key and value of each in turn: [layers, 2, width].
  std::size_t token_size() const { return 2 * layers_.size() * width_; }
  void read_token(std::size_t token, std::span<float> numbers) const;
  void write_token(std::size_t token, std::span<const float> numbers);

 private:
  std::size_t first_of_key(std::size_t token) const {
    return token / key_block_ * key_block_ * width_ + token % key_block_;
  }

  std::vector<AlignedFloats> layers_;  // Keys, then values.
  std::size_t width_;
  std::size_t key_block_;
  std::size_t capacity_ = 0;  // A multiple of 16.
  std::size_t length_ = 0;
};

}  // namespace semfuse
