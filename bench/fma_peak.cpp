#include "fma_peak.h"

#include <algorithm>
#include <chrono>

#include "core/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fma_peak.cpp"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

// Runs `rounds` rounds of independent FMAs and returns how many floating-point operations that were.
double RunFmas(std::size_t rounds, float* sink) {
  constexpr std::size_t kChains = 12;  // Latency times throughput asks for 8 to 10.
  const Tag d;
  const Vector factor = hn::Set(d, 0.999f);
  const Vector term = hn::Set(d, 1e-6f);
  Vector sum[kChains];
  SEMFUSE_UNROLL
  for (std::size_t i = 0; i < kChains; ++i) sum[i] = hn::Set(d, static_cast<float>(i));
  for (std::size_t round = 0; round < rounds; ++round) {
    SEMFUSE_UNROLL
    for (std::size_t i = 0; i < kChains; ++i) sum[i] = hn::MulAdd(sum[i], factor, term);
  }
  SEMFUSE_UNROLL
  for (std::size_t i = 0; i < kChains; ++i) *sink += hn::GetLane(hn::SumOfLanes(d, sum[i]));
  return 2.0 * static_cast<double>(rounds * kChains * hn::Lanes(d));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace semfuse {

HWY_EXPORT(RunFmas);

double measure_fma_peak(std::size_t threads) {
  constexpr std::size_t kRounds = 1'000'000;
  constexpr int kRepeats = 40;
  ThreadPool pool(threads);
  std::vector<float> sinks(threads * 64);
  std::vector<double> best(threads);
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    pool.run(threads, [&](std::size_t index, std::size_t) {
      const auto begin = std::chrono::steady_clock::now();
      const double flops = HWY_DYNAMIC_DISPATCH(RunFmas)(kRounds, &sinks[index * 64]);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      best[index] = std::max(best[index], flops / seconds.count() / 1e9);
    });
  }
  double total = 0.0;
  for (const double gflops : best) total += gflops;
  return total;
}

}  // namespace semfuse
#endif
