// Memory for many small lists that live as long as their owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace semfuse {

// For types that need no destructor. Nothing that was given out moves.
class Arena {
 public:
  // Elements are made of nothing.
  template <typename T>
  std::span<T> make(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= kAlignment);
    auto* first = reinterpret_cast<T*>(take(count * sizeof(T)));
    std::uninitialized_value_construct_n(first, count);
    return {first, count};
  }

  template <typename T>
  std::span<const T> copy(std::span<const T> list) {
    const std::span<T> made = make<T>(list.size());
    std::copy(list.begin(), list.end(), made.begin());
    return made;
  }

 private:
  static constexpr std::size_t kAlignment = 8;
  static constexpr std::size_t kLeastBlock = std::size_t{1} << 12;
  static constexpr std::size_t kMostBlock = std::size_t{1} << 16;

  std::byte* take(std::size_t bytes) {
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (bytes > free_.size()) {
      const std::size_t block =
          std::max(bytes, std::min(kLeastBlock << std::min<std::size_t>(blocks_.size(), 8), kMostBlock));
      blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(block));
      free_ = {blocks_.back().get(), block};
    }
    std::byte* taken = free_.data();
    free_ = free_.subspan(bytes);
    return taken;
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::span<std::byte> free_;  // Of the last block.
};

}  // namespace semfuse
