#include "kernels/weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/weights.cpp"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/contrib/math/math-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

using WideTag = hn::ScalableTag<double>;
using WideVector = hn::Vec<WideTag>;

// weight(j) gives the weights of the lanes from j on, which are stored and summed.
template <class Weight>
HWY_INLINE double fill_weights(std::size_t size, const Weight& weight, double* weights, double* block_sums) {
  const WideTag d;
  static_assert(kWeightBlock % hn::MaxLanes(d) == 0);
  double total = 0.0;
  for (std::size_t first = 0; first < size; first += kWeightBlock) {
    WideVector sum = hn::Zero(d);
    for (std::size_t j = first; j < first + kWeightBlock; j += hn::Lanes(d)) {
      const WideVector one = weight(j);
      hn::StoreU(one, d, weights + j);
      sum = hn::Add(sum, one);
    }
    const double block = hn::GetLane(hn::SumOfLanes(d, sum));
    block_sums[first / kWeightBlock] = block;
    total += block;
  }
  return total;
}

double ExponentialWeights(const float* z, std::size_t size, float largest, double temperature, double* weights,
                          double* block_sums) {
  const WideTag d;
  const hn::Rebind<float, WideTag> narrow;
  const WideVector top = hn::Set(d, static_cast<double>(largest));
  const WideVector divisor = hn::Set(d, temperature);
  const auto weight = [&](std::size_t j) SEMFUSE_LAMBDA {
    return hn::Exp(d, hn::Div(hn::Sub(hn::PromoteTo(d, hn::LoadU(narrow, z + j)), top), divisor));
  };
  return fill_weights(size, weight, weights, block_sums);
}

WeightLimits SumsFrom(const double* weights, std::size_t size, const WeightLimits& limits) {
  const WideTag d;
  const auto from = [&](WideVector one, std::size_t i)
                        SEMFUSE_LAMBDA { return hn::IfThenElseZero(hn::Ge(one, hn::Set(d, limits[i])), one); };
  WideVector sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  for (std::size_t j = 0; j < size; j += hn::Lanes(d)) {
    const WideVector one = hn::LoadU(d, weights + j);
    sum0 = hn::Add(sum0, from(one, 0));
    sum1 = hn::Add(sum1, from(one, 1));
    sum2 = hn::Add(sum2, from(one, 2));
    sum3 = hn::Add(sum3, from(one, 3));
  }
  const auto total = [&](WideVector sum) SEMFUSE_LAMBDA { return hn::GetLane(hn::SumOfLanes(d, sum)); };
  return {total(sum0), total(sum1), total(sum2), total(sum3)};
}

std::size_t WeightsBetween(const double* weights, std::size_t size, double low, double high, double* found) {
  const WideTag d;
  const WideVector least = hn::Set(d, low);
  const WideVector most = hn::Set(d, high);
  std::size_t count = 0;
  for (std::size_t j = 0; j < size; j += hn::Lanes(d)) {
    const WideVector one = hn::LoadU(d, weights + j);
    if (hn::AllFalse(d, hn::And(hn::Ge(one, least), hn::Lt(one, most)))) continue;
    for (std::size_t i = j; i < j + hn::Lanes(d); ++i) {
      if (weights[i] >= low && weights[i] < high) found[count++] = weights[i];
    }
  }
  return count;
}

double DropWeightsBelow(double* weights, std::size_t size, double least, double* block_sums) {
  const WideTag d;
  const WideVector limit = hn::Set(d, least);
  const auto weight = [&](std::size_t j) SEMFUSE_LAMBDA {
    const WideVector one = hn::LoadU(d, weights + j);
    return hn::IfThenElseZero(hn::Ge(one, limit), one);
  };
  return fill_weights(size, weight, weights, block_sums);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace semfuse {

HWY_EXPORT(ExponentialWeights);
HWY_EXPORT(SumsFrom);
HWY_EXPORT(WeightsBetween);
HWY_EXPORT(DropWeightsBelow);

double exponential_weights(const float* z, std::size_t size, float largest, double temperature, double* weights,
                           double* block_sums) {
  return HWY_DYNAMIC_DISPATCH(ExponentialWeights)(z, size, largest, temperature, weights, block_sums);
}
WeightLimits sums_from(const double* weights, std::size_t size, const WeightLimits& limits) {
  return HWY_DYNAMIC_DISPATCH(SumsFrom)(weights, size, limits);
}
std::size_t weights_between(const double* weights, std::size_t size, double low, double high, double* found) {
  return HWY_DYNAMIC_DISPATCH(WeightsBetween)(weights, size, low, high, found);
}
double drop_weights_below(double* weights, std::size_t size, double least, double* block_sums) {
  return HWY_DYNAMIC_DISPATCH(DropWeightsBelow)(weights, size, least, block_sums);
}

}  // namespace semfuse
#endif
