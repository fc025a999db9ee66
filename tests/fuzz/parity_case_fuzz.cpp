#include "fuzz/parity_case_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_parity_case({data, size});
  return 0;
}
