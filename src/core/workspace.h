// An aligned bump arena: matrices are handed out in order and all given back at once.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/matrix_view.h"

namespace semfuse {

// `floats` rounded up to whole cache lines, so that what follows is aligned to 64 bytes too.
constexpr std::size_t whole_lines(std::size_t floats) {
  return (floats + 15) / 16 * 16;
}

// Floats in an aligned array of its own; for what lives longer than a step.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(std::size_t size);
  AlignedFloats(const AlignedFloats& other);
  AlignedFloats& operator=(const AlignedFloats& other);
  AlignedFloats(AlignedFloats&&) noexcept = default;
  AlignedFloats& operator=(AlignedFloats&&) noexcept = default;
  ~AlignedFloats() = default;

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(float* p) const;
  };
  std::unique_ptr<float[], Free> data_;
  std::size_t size_ = 0;
};

// Not thread-safe: one owner allocates, others may use what was allocated.
class Workspace {
 public:
  // A matrix of unspecified content, valid until reset(). Rows begin at multiples of 64 bytes, and their stride is
  // never a multiple of 2 KiB, which would make the rows of a tile fight for the same cache sets.
  Matrix matrix(std::size_t rows, std::size_t cols);
  // `count` floats at a multiple of 64 bytes.
  float* floats(std::size_t count);

  // Gives everything back; what was allocated since is kept as one block for the next round.
  void reset();

  // The most bytes that were handed out between two resets.
  std::size_t peak_bytes() const { return peak_floats_ * sizeof(float); }

 private:
  std::vector<AlignedFloats> blocks_;
  std::size_t used_in_last_ = 0;
  std::size_t used_ = 0;
  std::size_t peak_floats_ = 0;
};

}  // namespace semfuse
