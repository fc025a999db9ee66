#include "fuzz/conllu_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_conllu({data, size});
  return 0;
}
