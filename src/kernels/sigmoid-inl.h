// The logistic function on vectors (Highway's -inl convention).
#if defined(SEMFUSE_KERNELS_SIGMOID_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SEMFUSE_KERNELS_SIGMOID_INL_H_
#undef SEMFUSE_KERNELS_SIGMOID_INL_H_
#else
#define SEMFUSE_KERNELS_SIGMOID_INL_H_
#endif

#include "hwy/contrib/math/math-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {

// σ(z) = 1 / (1 + exp(-z))
HWY_INLINE Vector sigmoid(Vector z) {
  const Tag d;
  const Vector one = hn::Set(d, 1.0f);
  // Beyond 87 exp(-z) would overflow.
  const Vector minus_z = hn::Min(hn::Neg(z), hn::Set(d, 87.0f));
  return hn::Div(one, hn::Add(one, hn::Exp(d, minus_z)));
}

}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#endif
