#include "kernels/adamw_update.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/adamw_update.cpp"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

void AdamW(const AdamWUpdate& u, std::size_t size, const float* gradient, float* weights, float* m, float* v) {
  const Tag d;
  const Vector scale = hn::Set(d, u.gradient_scale);
  const Vector decay = hn::Set(d, u.decay);
  const Vector beta1 = hn::Set(d, u.beta1);
  const Vector beta2 = hn::Set(d, u.beta2);
  const Vector rest1 = hn::Set(d, u.rest1);
  const Vector rest2 = hn::Set(d, u.rest2);
  const Vector step = hn::Set(d, u.step_size);
  const Vector correction = hn::Set(d, u.inverse_sqrt_correction);
  const Vector epsilon = hn::Set(d, u.epsilon);
  for_vectors(size, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
    const Vector g = hn::Mul(load(gradient + j, count), scale);
    const Vector m_j = hn::MulAdd(rest1, g, hn::Mul(beta1, load(m + j, count)));
    const Vector v_j = hn::MulAdd(rest2, hn::Mul(g, g), hn::Mul(beta2, load(v + j, count)));
    store(m_j, m + j, count);
    store(v_j, v + j, count);
    const Vector move = hn::Div(hn::Mul(step, m_j), hn::MulAdd(hn::Sqrt(v_j), correction, epsilon));
    store(hn::Sub(hn::Mul(load(weights + j, count), decay), move), weights + j, count);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace semfuse {

HWY_EXPORT(AdamW);

void adamw_update(const AdamWUpdate& update, std::size_t size, const float* gradient, float* weights, float* m,
                  float* v) {
  HWY_DYNAMIC_DISPATCH(AdamW)(update, size, gradient, weights, m, v);
}

}  // namespace semfuse
#endif
