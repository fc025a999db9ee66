// The softmax of a row of attention scores (Highway's -inl convention).
#include <cstddef>

#if defined(SEMFUSE_KERNELS_SOFTMAX_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SEMFUSE_KERNELS_SOFTMAX_ROW_INL_H_
#undef SEMFUSE_KERNELS_SOFTMAX_ROW_INL_H_
#else
#define SEMFUSE_KERNELS_SOFTMAX_ROW_INL_H_
#endif

#include "hwy/contrib/math/math-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {

// Softmax of the first `count` of a row's scores times `scale`; the rest up to `end` become 0.
HWY_INLINE void softmax_row(float* row, std::size_t count, std::size_t end, float scale) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t whole = count / lanes * lanes;  // What is left is part of one more vector.
  const auto valid = hn::FirstN(d, count - whole);
  const Vector lowest = hn::Set(d, -hwy::HighestValue<float>());
  Vector largest = lowest;
  for (std::size_t j = 0; j < whole; j += lanes) largest = hn::Max(largest, hn::Load(d, row + j));
  if (whole < count) largest = hn::Max(largest, hn::IfThenElse(valid, hn::Load(d, row + whole), lowest));
  largest = hn::MaxOfLanes(d, largest);
  const Vector factor = hn::Set(d, scale);
  Vector sum = hn::Zero(d);
  const auto exponential = [&](std::size_t j) SEMFUSE_LAMBDA {
    return hn::Exp(d, hn::Mul(hn::Sub(hn::Load(d, row + j), largest), factor));
  };
  for (std::size_t j = 0; j < whole; j += lanes) {
    const Vector e = exponential(j);
    sum = hn::Add(sum, e);
    hn::Store(e, d, row + j);
  }
  if (whole < count) {
    const Vector e = hn::IfThenElseZero(valid, exponential(whole));
    sum = hn::Add(sum, e);
    hn::Store(e, d, row + whole);
  }
  const Vector inverse = hn::Div(hn::Set(d, 1.0f), hn::SumOfLanes(d, sum));
  std::size_t j = 0;
  for (; j < count; j += lanes) hn::Store(hn::Mul(hn::Load(d, row + j), inverse), d, row + j);
  for (; j < end; j += lanes) hn::Store(hn::Zero(d), d, row + j);
}

}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#endif
