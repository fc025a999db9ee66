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

// The sum of `count` floats, a multiple of eight vectors, in as many chains as loads can be under way.
float SumOf(const float* values, std::size_t count) {
  constexpr std::size_t kChains = 8;
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  Vector sum[kChains];
  SEMFUSE_UNROLL
  for (std::size_t i = 0; i < kChains; ++i) sum[i] = hn::Zero(d);
  for (std::size_t at = 0; at + kChains * lanes <= count; at += kChains * lanes) {
    SEMFUSE_UNROLL
    for (std::size_t i = 0; i < kChains; ++i) sum[i] = hn::Add(sum[i], hn::LoadU(d, values + at + i * lanes));
  }
  float total = 0.0f;
  SEMFUSE_UNROLL
  for (std::size_t i = 0; i < kChains; ++i) total += hn::GetLane(hn::SumOfLanes(d, sum[i]));
  return total;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace semfuse {

HWY_EXPORT(RunFmas);
HWY_EXPORT(SumOf);

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

double measure_read_bandwidth(std::size_t bytes) {
  constexpr int kRepeats = 200;
  const std::vector<float> values(bytes / sizeof(float), 1.0f);
  volatile float sink = 0.0f;
  double best = 0.0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    sink = sink + HWY_DYNAMIC_DISPATCH(SumOf)(values.data(), values.size());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, static_cast<double>(bytes) / seconds.count() / 1e9);
  }
  return best;
}

}  // namespace semfuse
#endif
