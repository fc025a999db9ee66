#include "kernels/softmax.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax.cpp"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "kernels/sigmoid-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

struct LargestAndSum {
  float largest;
  float sum;  // NaN if a number is: Max and Exp pass over a NaN, which the loss must show; a sum does not.
};

HWY_INLINE LargestAndSum largest_and_sum(const float* z, std::size_t size) {
  const Tag d;
  const Vector lowest = hn::Set(d, -hwy::HighestValue<float>());
  Vector largest = lowest;
  Vector sum = hn::Zero(d);
  for_vectors(size, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
    const Vector v = load(z + j, count);
    sum = hn::Add(sum, v);
    largest = hn::Max(largest, hn::IfThenElse(hn::FirstN(d, count), v, lowest));
  });
  return {hn::GetLane(hn::MaxOfLanes(d, largest)), hn::GetLane(hn::SumOfLanes(d, sum))};
}

float LogSumExp(const float* z, std::size_t size) {
  const Tag d;
  const auto [largest, sum] = largest_and_sum(z, size);
  if (std::isnan(sum)) return sum;
  const Vector shift = hn::Set(d, largest);
  Vector total = hn::Zero(d);
  for_vectors(size, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
    const Vector e = hn::Exp(d, hn::Sub(load(z + j, count), shift));
    total = hn::Add(total, first_lanes(e, count));
  });
  return largest + std::log(hn::GetLane(hn::SumOfLanes(d, total)));
}

LogitSums SoftmaxGradient(float* z, std::size_t size, float floor, float scale) {
  const Tag d;
  const auto [largest, sum] = largest_and_sum(z, size);
  if (std::isnan(sum)) return {sum, sum};
  const Vector shift = hn::Set(d, largest);
  Vector total = hn::Zero(d);
  for_vectors(size, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
    const Vector e = hn::Exp(d, hn::Sub(load(z + j, count), shift));
    store(e, z + j, count);
    total = hn::Add(total, first_lanes(e, count));
  });
  const float exp_sum = hn::GetLane(hn::SumOfLanes(d, total));
  const Vector factor = hn::Set(d, scale / exp_sum);
  const Vector low = hn::Set(d, floor * scale);
  for_vectors(size, [&](std::size_t j, std::size_t count)
                        SEMFUSE_LAMBDA { store(hn::MulSub(load(z + j, count), factor, low), z + j, count); });
  return {largest + std::log(exp_sum), sum};
}

// -t ln σ(z) - (1 - t) ln(1 - σ(z)) = max(z, 0) - z t + ln(1 + exp(-|z|))
float SigmoidCrossEntropy(float* z, const float* target, std::size_t size, float scale) {
  const Tag d;
  const Vector factor = hn::Set(d, scale);
  Vector total = hn::Zero(d);
  for_vectors(size, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
    const Vector z_j = load(z + j, count);
    const Vector t = load(target + j, count);
    const Vector tail = hn::Log1p(d, hn::Exp(d, hn::Max(hn::Neg(hn::Abs(z_j)), hn::Set(d, -87.0f))));
    const Vector loss = hn::Add(hn::NegMulAdd(z_j, t, hn::Max(z_j, hn::Zero(d))), tail);
    total = hn::Add(total, first_lanes(loss, count));
    store(hn::Mul(hn::Sub(sigmoid(z_j), t), factor), z + j, count);
  });
  return hn::GetLane(hn::SumOfLanes(d, total));
}

void TiltLogits(float* logits, const float* z, std::size_t size, float yes, float no, float weight) {
  const Tag d;
  const Vector share_yes = hn::Set(d, yes);
  const Vector share_no = hn::Set(d, no);
  const Vector factor = hn::Set(d, weight);
  const Vector least = hn::Set(d, 1e-37f);  // Of what has a logarithm.
  for_vectors(size, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
    const Vector z_j = load(z + j, count);
    // σ(|z|) = 1 / (1 + e) and σ(-|z|) = e / (1 + e) with e = exp(-|z|): both without cancellation.
    const Vector e = hn::Exp(d, hn::Max(hn::Neg(hn::Abs(z_j)), hn::Set(d, -87.0f)));
    const auto positive = hn::Ge(z_j, hn::Zero(d));
    const Vector larger = hn::IfThenElse(positive, share_yes, share_no);
    const Vector smaller = hn::IfThenElse(positive, share_no, share_yes);
    const Vector mixed = hn::Div(hn::MulAdd(smaller, e, larger), hn::Add(hn::Set(d, 1.0f), e));
    const Vector log_mixed = hn::Log(d, hn::Max(mixed, least));
    store(hn::MulAdd(factor, log_mixed, load(logits + j, count)), logits + j, count);
  });
}

void Sigmoid(float* z, std::size_t size) {
  for_vectors(
      size, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA { store(sigmoid(load(z + j, count)), z + j, count); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace semfuse {

HWY_EXPORT(LogSumExp);
HWY_EXPORT(SoftmaxGradient);
HWY_EXPORT(SigmoidCrossEntropy);
HWY_EXPORT(TiltLogits);
HWY_EXPORT(Sigmoid);

float log_sum_exp(const float* z, std::size_t size) {
  return HWY_DYNAMIC_DISPATCH(LogSumExp)(z, size);
}

LogitSums softmax_gradient(float* z, std::size_t size, float floor, float scale) {
  return HWY_DYNAMIC_DISPATCH(SoftmaxGradient)(z, size, floor, scale);
}

float sigmoid_cross_entropy(float* z, const float* target, std::size_t size, float scale) {
  return HWY_DYNAMIC_DISPATCH(SigmoidCrossEntropy)(z, target, size, scale);
}

void tilt_logits(float* logits, const float* z, std::size_t size, float yes, float no, float weight) {
  HWY_DYNAMIC_DISPATCH(TiltLogits)(logits, z, size, yes, no, weight);
}

void sigmoid(float* z, std::size_t size) {
  HWY_DYNAMIC_DISPATCH(Sigmoid)(z, size);
}

}  // namespace semfuse
#endif
