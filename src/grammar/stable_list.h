// A list that grows at its end and never moves what it holds.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>

namespace semfuse {

// One thread at a time adds; others may read meanwhile what they were told of. Elements are made one by one, so that no
// call pays for memory that others will use.
template <typename T>
class StableList {
 public:
  StableList() = default;
  StableList(const StableList&) = delete;
  StableList& operator=(const StableList&) = delete;
  ~StableList() {
    for (std::size_t i = 0; i < size(); ++i) std::destroy_at(&(*this)[i]);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (T* block = blocks_[b].load(std::memory_order_relaxed))
        std::allocator<T>().deallocate(block, kFirstBlock << b);
    }
  }

  std::size_t size() const { return size_.load(std::memory_order_relaxed); }
  void grow(std::size_t size) {
    for (std::size_t i = this->size(); i < size; ++i) {
      std::atomic<T*>& block = blocks_[block_of(i)];
      if (block.load(std::memory_order_relaxed) == nullptr)
        block.store(std::allocator<T>().allocate(kFirstBlock << block_of(i)), std::memory_order_release);
      std::construct_at(&(*this)[i]);
      size_.store(i + 1, std::memory_order_release);
    }
  }

  T& operator[](std::size_t index) {
    const std::size_t b = block_of(index);
    return blocks_[b].load(std::memory_order_acquire)[index - first_of(b)];
  }
  const T& operator[](std::size_t index) const { return const_cast<StableList&>(*this)[index]; }
  // Null if the list is not that long.
  const T* find(std::size_t index) const {
    return index < size_.load(std::memory_order_acquire) ? &(*this)[index] : nullptr;
  }

 private:
  static constexpr std::size_t kFirstBlock = 64;  // Each block is twice as long as the one before.
  static std::size_t block_of(std::size_t index) {
    return static_cast<std::size_t>(std::bit_width(index / kFirstBlock + 1)) - 1;
  }
  static std::size_t first_of(std::size_t block) { return ((std::size_t{1} << block) - 1) * kFirstBlock; }

  std::array<std::atomic<T*>, 27> blocks_{};
  std::atomic<std::size_t> size_ = 0;
};

}  // namespace semfuse
