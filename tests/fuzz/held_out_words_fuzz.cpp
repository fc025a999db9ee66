#include "fuzz/held_out_words_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_held_out_words({data, size});
  return 0;
}
