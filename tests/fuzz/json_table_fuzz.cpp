#include "fuzz/json_table_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_json_table({data, size});
  return 0;
}
