// A matrix for kernel tests: any stride and misalignment, sentinels wherever a kernel has no business.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "core/matrix_view.h"
#include "core/random.h"

namespace semfuse {

// How a matrix lies in memory.
struct Placement {
  std::size_t gap = 0;           // Floats between the end of a row and the next row.
  std::size_t misalignment = 0;  // Floats between a multiple of 64 bytes and the first row.
  bool open_end = false;         // No sentinels after the last row, so that a sanitizer sees whoever reads past it.
};

// Sentinels are NaN, so a result shows it when a kernel has used one, and a bit pattern, so a check shows it when one
// was overwritten.
class GuardedMatrix {
 public:
  GuardedMatrix(std::size_t rows, std::size_t cols, Placement placement = {})
      : rows_(rows), cols_(cols), stride_(cols + placement.gap) {
    const std::size_t span = rows == 0 ? 0 : (rows - 1) * stride_ + cols;
    first_ = kGuard + placement.misalignment;
    size_ = first_ + span + (placement.open_end ? 0 : kGuard);
    buffer_.reset(static_cast<float*>(::operator new(size_ * sizeof(float), kAlignment)));
    std::fill_n(buffer_.get(), size_, std::bit_cast<float>(kSentinel));
  }
  GuardedMatrix(const GuardedMatrix&) = delete;
  GuardedMatrix& operator=(const GuardedMatrix&) = delete;

  Matrix view() { return {buffer_.get() + first_, rows_, cols_, stride_}; }
  float* data() { return buffer_.get() + first_; }
  float& operator()(std::size_t i, std::size_t j) { return view()(i, j); }

  template <class Value>
  GuardedMatrix& fill(const Value& value) {
    for (std::size_t i = 0; i < rows_; ++i) {
      for (std::size_t j = 0; j < cols_; ++j) data()[i * stride_ + j] = static_cast<float>(value(i, j));
    }
    return *this;
  }

  // Whether every sentinel is still in place.
  bool guards_intact() const {
    for (std::size_t n = 0; n < size_; ++n) {
      const bool inside = n >= first_ && (n - first_) / stride_ < rows_ && (n - first_) % stride_ < cols_;
      if (!inside && std::bit_cast<std::uint32_t>(buffer_.get()[n]) != kSentinel) return false;
    }
    return true;
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static constexpr std::size_t kGuard = 32;
  static constexpr std::uint32_t kSentinel = 0x7FC0DEADu;
  struct Free {
    void operator()(float* p) const { ::operator delete(p, kAlignment); }
  };
  std::size_t rows_;
  std::size_t cols_;
  std::size_t stride_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::unique_ptr<float, Free> buffer_;
};

// The largest |actual - expected(i, j)|; infinite if a number is not one.
template <class Expected>
double worst_difference(ConstMatrix actual, const Expected& expected) {
  double worst = 0.0;
  for (std::size_t i = 0; i < actual.rows(); ++i) {
    for (std::size_t j = 0; j < actual.cols(); ++j) {
      const double difference = std::abs(static_cast<double>(actual.row(i)[j]) - static_cast<double>(expected(i, j)));
      if (!(difference <= worst)) worst = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
    }
  }
  return worst;
}

// Whole numbers from -4 to 4: sums of thousands of their products are exact in float, in any order.
class SmallIntegers {
 public:
  explicit SmallIntegers(std::uint64_t seed) : random_(seed, RandomPurpose::weights) {}
  float operator()(std::size_t i, std::size_t j) const {
    return static_cast<float>(random_.below(i * 65536 + j, 9)) - 4.0f;
  }

 private:
  RandomStream random_;
};

// Uniform on [-size, size].
class UniformNumbers {
 public:
  explicit UniformNumbers(std::uint64_t seed, double size = 1.0) : random_(seed, RandomPurpose::weights), size_(size) {}
  float operator()(std::size_t i, std::size_t j) const {
    return static_cast<float>((2.0 * random_.uniform(i * 65536 + j) - 1.0) * size_);
  }

 private:
  RandomStream random_;
  double size_;
};

// Sizes that end within, at and just past every vector length, up to twice the longest.
inline std::vector<std::size_t> every_size(std::size_t last = 33) {
  std::vector<std::size_t> sizes(last);
  for (std::size_t i = 0; i < last; ++i) sizes[i] = i + 1;
  return sizes;
}

inline const std::vector<Placement>& placements() {
  static const std::vector<Placement> all = {
      {}, {.gap = 1}, {.gap = 5, .misalignment = 1}, {.gap = 16, .misalignment = 7, .open_end = true}};
  return all;
}

}  // namespace semfuse
