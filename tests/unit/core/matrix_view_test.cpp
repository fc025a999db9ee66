#include "core/matrix_view.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace semfuse {
namespace {

class MatrixViewTest : public testing::Test {
 protected:
  MatrixViewTest() { std::iota(numbers_.begin(), numbers_.end(), 0.0f); }
  std::array<float, 24> numbers_{};
  Matrix matrix_{numbers_.data(), 4, 5, 6};
};

TEST_F(MatrixViewTest, RowsAreAStrideApart) {
  EXPECT_EQ(matrix_(0, 0), 0.0f);
  EXPECT_EQ(matrix_(2, 3), 15.0f);
  EXPECT_EQ(matrix_.row(3), numbers_.data() + 18);
  EXPECT_EQ(Matrix(numbers_.data(), 4, 5).stride(), 5u);
}

TEST_F(MatrixViewTest, RangesShareTheNumbersAndTheStride) {
  const Matrix rows = matrix_.row_range(1, 2);
  EXPECT_EQ(rows.rows(), 2u);
  EXPECT_EQ(rows(0, 0), 6.0f);
  const Matrix columns = matrix_.column_range(3, 2);
  EXPECT_EQ(columns.cols(), 2u);
  EXPECT_EQ(columns.stride(), 6u);
  EXPECT_EQ(columns(2, 1), 16.0f);
  const Matrix block = matrix_.row_range(1, 3).column_range(1, 4);
  block(2, 3) = -1.0f;
  EXPECT_EQ(matrix_(3, 4), -1.0f);
}

TEST_F(MatrixViewTest, RangesMayBeEmpty) {
  EXPECT_EQ(matrix_.row_range(4, 0).rows(), 0u);
  EXPECT_EQ(matrix_.column_range(5, 0).cols(), 0u);
  EXPECT_EQ(Matrix().rows(), 0u);
  EXPECT_EQ(Matrix().data(), nullptr);
}

TEST_F(MatrixViewTest, BecomesAReadOnlyView) {
  const ConstMatrix view = matrix_;
  EXPECT_EQ(view(3, 0), 18.0f);
  static_assert(!std::is_convertible_v<ConstMatrix, Matrix>);
  static_assert(std::is_same_v<decltype(view(0, 0)), const float&>);
}

}  // namespace
}  // namespace semfuse
