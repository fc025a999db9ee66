// The machine's fused multiply-add peak: what no matrix product can exceed.
#pragma once

#include <cstddef>

namespace semfuse {

// GFLOP/s of `threads` threads running independent vector FMAs at the same time, the best of several short rounds.
double measure_fma_peak(std::size_t threads);

// GB/s at which one thread reads `bytes` of floats again and again: of the cache that holds them, or of memory.
double measure_read_bandwidth(std::size_t bytes);

}  // namespace semfuse
