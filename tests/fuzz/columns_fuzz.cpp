#include "fuzz/columns_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_columns({data, size});
  return 0;
}
