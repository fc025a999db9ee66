#include "fuzz/hf_tokenizer_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_hf_tokenizer({data, size});
  return 0;
}
