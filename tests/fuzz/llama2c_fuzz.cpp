#include "fuzz/llama2c_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_llama2c({data, size});
  return 0;
}
