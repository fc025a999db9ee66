#include "fuzz/run_metrics_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_run_metrics({data, size});
  return 0;
}
