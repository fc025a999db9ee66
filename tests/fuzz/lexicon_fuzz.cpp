#include "fuzz/lexicon_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_lexicon({data, size});
  return 0;
}
