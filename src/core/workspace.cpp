#include "core/workspace.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace semfuse {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{1} << 21;
constexpr std::size_t kFloatsPerLine = kAlignment / sizeof(float);
constexpr std::size_t kConflictingStride = 2048 / sizeof(float);
constexpr std::size_t kSmallestBlock = std::size_t{1} << 18;

}  // namespace

void AlignedFloats::Free::operator()(float* p) const {
  std::free(p);
}  // NOLINT(cppcoreguidelines-no-malloc)

AlignedFloats::AlignedFloats(std::size_t size) : size_(size) {
  if (size > PTRDIFF_MAX / sizeof(float) - kHugePage) throw std::bad_alloc();
  const std::size_t bytes = std::max(whole_lines(size) * sizeof(float), kAlignment);
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  auto* p = static_cast<float*>(std::aligned_alloc(alignment, rounded));
  if (!p) throw std::bad_alloc();
#ifdef __linux__
  // A step walks over tens of megabytes: small pages cost a quarter of its time in address translation.
  if (alignment == kHugePage) madvise(p, rounded, MADV_HUGEPAGE);
#endif
  std::memset(p, 0, rounded);
  data_.reset(p);
}

AlignedFloats::AlignedFloats(const AlignedFloats& other) : AlignedFloats(other.size_) {
  std::copy_n(other.data(), size_, data());
}

AlignedFloats& AlignedFloats::operator=(const AlignedFloats& other) {
  if (this != &other) *this = AlignedFloats(other);
  return *this;
}

float* Workspace::floats(std::size_t count) {
  const std::size_t lines = whole_lines(count);
  if (blocks_.empty() || used_in_last_ + lines > blocks_.back().size()) {
    blocks_.emplace_back(std::max(lines, kSmallestBlock));
    used_in_last_ = 0;
  }
  float* result = blocks_.back().data() + used_in_last_;
  used_in_last_ += lines;
  used_ += lines;
  peak_floats_ = std::max(peak_floats_, used_);
  return result;
}

Matrix Workspace::matrix(std::size_t rows, std::size_t cols) {
  std::size_t stride = whole_lines(cols);
  if (stride % kConflictingStride == 0) stride += kFloatsPerLine;
  return {floats(rows * stride), rows, cols, stride};
}

void Workspace::reset() {
  if (blocks_.size() > 1) {
    blocks_.clear();
    blocks_.emplace_back(peak_floats_);
  }
  used_in_last_ = 0;
  used_ = 0;
}

}  // namespace semfuse
