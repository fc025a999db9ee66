#include "fuzz/word_vectors_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_word_vectors({data, size});
  return 0;
}
