#include "fuzz/delimited_table_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_delimited_table({data, size});
  return 0;
}
