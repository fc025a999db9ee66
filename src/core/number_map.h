// A table from numbers to numbers that is quick to ask and only grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/random.h"

namespace semfuse {

class NumberMap {
 public:
  static constexpr std::uint32_t kAbsent = static_cast<std::uint32_t>(-1);

  // kAbsent if the key is not there.
  std::uint32_t find(std::uint64_t key) const {
    if (places_.empty()) return kAbsent;
    for (std::size_t i = mix_bits(key);; ++i) {
      const Place& place = places_[i & (places_.size() - 1)];
      if (place.value == kAbsent || place.key == key) return place.value;
    }
  }

  // Of a key that is not there; the value is not kAbsent.
  void add(std::uint64_t key, std::uint32_t value) {
    if (2 * (size_ + 1) > places_.size()) grow();
    put({key, value});
    ++size_;
  }

  std::size_t size() const { return size_; }
  void clear() {
    places_.clear();
    size_ = 0;
  }

 private:
  struct Place {
    std::uint64_t key = 0;
    std::uint32_t value = kAbsent;
  };

  void put(const Place& place) {
    std::size_t i = mix_bits(place.key) & (places_.size() - 1);
    while (places_[i].value != kAbsent) i = (i + 1) & (places_.size() - 1);
    places_[i] = place;
  }
  void grow() {
    std::vector<Place> old(places_.empty() ? 64 : 2 * places_.size());  // Always a power of two.
    old.swap(places_);
    for (const Place& place : old) {
      if (place.value != kAbsent) put(place);
    }
  }

  std::vector<Place> places_;
  std::size_t size_ = 0;
};

}  // namespace semfuse
