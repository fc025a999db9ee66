#include "fuzz/gguf_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_gguf({data, size});
  return 0;
}
