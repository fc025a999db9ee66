// The matrix kernels at the model's shapes beside OpenBLAS on one thread, in one run: why semfuse has its own.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include "core/workspace.h"
#include "kernels/matmul.h"

extern "C" void openblas_set_num_threads(int threads);

namespace semfuse {
namespace {

struct Operands {
  explicit Operands(const benchmark::State& state)
      : m(static_cast<std::size_t>(state.range(0))),
        n(static_cast<std::size_t>(state.range(1))),
        k(static_cast<std::size_t>(state.range(2))),
        a(m * k),
        w(n * k),
        c(m * n),
        packed(packed_size(k, n)) {
    for (std::size_t i = 0; i < a.size(); ++i) a.data()[i] = static_cast<float>(i % 7) - 3.0f;
    for (std::size_t i = 0; i < w.size(); ++i) w.data()[i] = static_cast<float>(i % 5) - 2.0f;
    pack_transposed({w.data(), n, k}, packed.data());
  }
  void finish(benchmark::State& state) const {
    state.counters["GFLOP/s"] =
        benchmark::Counter(2.0 * static_cast<double>(m * n * k), benchmark::Counter::kIsIterationInvariantRate,
                           benchmark::Counter::kIs1000);
  }
  std::size_t m, n, k;
  AlignedFloats a, w, c, packed;
};

void forward_semfuse(benchmark::State& state) {
  Operands o(state);
  for (auto _ : state)
    matmul(ConstMatrix(o.a.data(), o.m, o.k), {o.packed.data(), o.k, o.n}, Matrix(o.c.data(), o.m, o.n));
  o.finish(state);
}

void forward_openblas(benchmark::State& state) {
  Operands o(state);
  openblas_set_num_threads(1);
  const auto size = [](std::size_t value) { return static_cast<int>(value); };
  for (auto _ : state) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size(o.m), size(o.n), size(o.k), 1.0f, o.a.data(), size(o.k),
                o.w.data(), size(o.k), 0.0f, o.c.data(), size(o.n));
  }
  o.finish(state);
}

void gradient_semfuse(benchmark::State& state) {
  Operands o(state);
  for (auto _ : state)
    matmul_transposed_a(ConstMatrix(o.c.data(), o.m, o.n), ConstMatrix(o.a.data(), o.m, o.k),
                        Matrix(o.w.data(), o.n, o.k));
  o.finish(state);
}

void gradient_openblas(benchmark::State& state) {
  Operands o(state);
  openblas_set_num_threads(1);
  const auto size = [](std::size_t value) { return static_cast<int>(value); };
  for (auto _ : state) {
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, size(o.n), size(o.k), size(o.m), 1.0f, o.c.data(), size(o.n),
                o.a.data(), size(o.k), 0.0f, o.w.data(), size(o.k));
  }
  o.finish(state);
}

// Tokens of a shard by outputs by inputs, then tokens of a batch for the weight gradients.
void forward_shapes(benchmark::internal::Benchmark* b) {
  b->Args({118, 384, 128})->Args({118, 128, 128})->Args({118, 256, 128})->Args({118, 128, 256});
}
void gradient_shapes(benchmark::internal::Benchmark* b) {
  b->Args({947, 384, 128})->Args({947, 128, 128})->Args({947, 256, 128})->Args({947, 128, 256});
}

BENCHMARK(forward_semfuse)->Apply(forward_shapes);
BENCHMARK(forward_openblas)->Apply(forward_shapes);
BENCHMARK(gradient_semfuse)->Apply(gradient_shapes);
BENCHMARK(gradient_openblas)->Apply(gradient_shapes);

}  // namespace
}  // namespace semfuse

BENCHMARK_MAIN();
