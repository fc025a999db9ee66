#include "fuzz/run_log_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_run_log({data, size});
  return 0;
}
