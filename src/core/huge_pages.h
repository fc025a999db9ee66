// Memory for large tables that are read all over.
#pragma once

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace semfuse {

// For std::vector: from 2 MB on the memory is in pages of 2 MB where the system has them, which saves most
// page faults at the first writing and most of the address translation afterwards.
template <typename T>
struct HugePageAllocator {
  using value_type = T;
  static constexpr std::size_t kPage = std::size_t{1} << 21;

  HugePageAllocator() = default;
  template <typename U>
  HugePageAllocator(const HugePageAllocator<U>&) {}  // NOLINT(google-explicit-constructor): allocators convert.

  T* allocate(std::size_t count) {
    if (count > PTRDIFF_MAX / sizeof(T) - kPage) throw std::bad_array_new_length();
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kPage) return static_cast<T*>(::operator new(bytes, std::align_val_t(alignof(T))));
    const std::size_t rounded = (bytes + kPage - 1) / kPage * kPage;
    void* p = std::aligned_alloc(kPage, rounded);
    if (p == nullptr) throw std::bad_alloc();
#ifdef __linux__
    madvise(p, rounded, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t count) noexcept {
    if (count * sizeof(T) < kPage) {
      ::operator delete(p, std::align_val_t(alignof(T)));
    } else {
      std::free(p);  // NOLINT(cppcoreguidelines-no-malloc)
    }
  }
  bool operator==(const HugePageAllocator&) const = default;
};

}  // namespace semfuse
