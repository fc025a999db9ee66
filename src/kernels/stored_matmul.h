// Products with weights as they are stored: unpacked in registers, never as a whole.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/matrix_view.h"
#include "core/workspace.h"
#include "kernels/stored_matrix.h"

namespace semfuse {

// Rows of activations as int8, in blocks of 32 with a scale each: what products with GGUF's block types multiply with.
// Memory is kept from one resize() to the next.
class QuantisedRows {
 public:
  static constexpr std::size_t kBlock = 32;

  // Makes room; `cols` is a multiple of 32.
  void resize(std::size_t rows, std::size_t cols);
  // Rows [first, first + count) from those of x. Different rows may be written by different threads.
  void quantise(ConstMatrix x, std::size_t first, std::size_t count);

  std::size_t rows() const { return rows_; }
  std::size_t blocks() const { return blocks_; }  // Of a row.
  const std::int8_t* values(std::size_t row) const {
    return reinterpret_cast<const std::int8_t*>(values_.data()) + row * blocks_ * kBlock;
  }
  const float* scales(std::size_t row) const { return scales_.data() + row * blocks_; }
  // Of each block: scale times the sum of its values.
  const float* sums(std::size_t row) const { return sums_.data() + row * blocks_; }
  // The sum of the values of each 16.
  const std::int32_t* half_sums(std::size_t row) const {
    return reinterpret_cast<const std::int32_t*>(half_sums_.data()) + row * blocks_ * 2;
  }

 private:
  std::size_t rows_ = 0;
  std::size_t blocks_ = 0;
  AlignedFloats values_;
  AlignedFloats scales_;
  AlignedFloats sums_;
  AlignedFloats half_sums_;
};

// Whether products with weights of that type read QuantisedRows; the others read floats.
bool reads_quantised(StorageType type);

// Columns [first, first + count) of y = x · Wᵀ, with x as the type reads it: `quantised` or `x`; the other is not
// looked at. The order of every sum depends on W's columns alone, so neither other rows of x nor how the columns are
// cut changes a bit. `first` is a multiple of 32.
void multiply_stored(const StoredMatrix& weights, std::size_t first, std::size_t count, ConstMatrix x,
                     const QuantisedRows& quantised, Matrix y);

}  // namespace semfuse
