// A non-owning, row-major, rank-2 view with a stride; rows are tokens, heads are column ranges.
#pragma once

#include <cassert>
#include <cstddef>
#include <type_traits>

namespace semfuse {

template <class T>
class MatrixView {
 public:
  MatrixView() = default;
  MatrixView(T* data, std::size_t rows, std::size_t cols, std::size_t stride)
      : data_(data), rows_(rows), cols_(cols), stride_(stride) {
    assert(stride >= cols);
  }
  MatrixView(T* data, std::size_t rows, std::size_t cols) : MatrixView(data, rows, cols, cols) {}

  T* data() const { return data_; }
  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  std::size_t stride() const { return stride_; }

  T* row(std::size_t i) const {
    assert(i < rows_);
    return data_ + i * stride_;
  }
  T& operator()(std::size_t i, std::size_t j) const {
    assert(j < cols_);
    return row(i)[j];
  }
  MatrixView row_range(std::size_t begin, std::size_t count) const {
    assert(begin + count <= rows_);
    return {data_ + begin * stride_, count, cols_, stride_};
  }
  MatrixView column_range(std::size_t begin, std::size_t count) const {
    assert(begin + count <= cols_);
    return {data_ + begin, rows_, count, stride_};
  }
  operator MatrixView<const T>() const  // NOLINT(google-explicit-constructor): a read-only view of the same numbers.
      requires(!std::is_const_v<T>) {
    return {data_, rows_, cols_, stride_};
  }

 private:
  T* data_ = nullptr;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::size_t stride_ = 0;
};

using Matrix = MatrixView<float>;
using ConstMatrix = MatrixView<const float>;

}  // namespace semfuse
