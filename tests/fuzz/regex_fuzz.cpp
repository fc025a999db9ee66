#include "fuzz/regex_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_regex({data, size});
  return 0;
}
