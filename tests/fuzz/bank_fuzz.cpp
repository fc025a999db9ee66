#include "fuzz/bank_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_bank({data, size});
  return 0;
}
