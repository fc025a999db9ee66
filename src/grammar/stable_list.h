// A list that grows at its end and never moves what it holds.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>

namespace semfuse {

// One thread at a time adds; others may read meanwhile what they were told of.
template <typename T>
class StableList {
 public:
  StableList() = default;
  StableList(const StableList&) = delete;
  StableList& operator=(const StableList&) = delete;
  ~StableList() {
    for (std::atomic<T*>& block : blocks_) delete[] block.load(std::memory_order_relaxed);
  }

  std::size_t size() const { return size_; }
  void grow(std::size_t size) {
    if (size <= size_) return;
    for (std::size_t b = 0; b <= block_of(size - 1); ++b) {
      if (blocks_[b].load(std::memory_order_relaxed) == nullptr)
        blocks_[b].store(new T[kFirstBlock << b], std::memory_order_release);
    }
    size_ = size;
  }

  T& operator[](std::size_t index) {
    const std::size_t b = block_of(index);
    return blocks_[b].load(std::memory_order_acquire)[index - first_of(b)];
  }
  const T& operator[](std::size_t index) const { return const_cast<StableList&>(*this)[index]; }
  // Null if the list has never been that long.
  const T* find(std::size_t index) const {
    const std::size_t b = block_of(index);
    const T* block = blocks_[b].load(std::memory_order_acquire);
    return block == nullptr ? nullptr : block + (index - first_of(b));
  }

 private:
  static constexpr std::size_t kFirstBlock = 64;  // Each block is twice as long as the one before.
  static std::size_t block_of(std::size_t index) {
    return static_cast<std::size_t>(std::bit_width(index / kFirstBlock + 1)) - 1;
  }
  static std::size_t first_of(std::size_t block) { return ((std::size_t{1} << block) - 1) * kFirstBlock; }

  std::array<std::atomic<T*>, 27> blocks_{};
  std::size_t size_ = 0;
};

}  // namespace semfuse
