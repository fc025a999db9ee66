#include "fuzz/hf_config_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_hf_config({data, size});
  return 0;
}
