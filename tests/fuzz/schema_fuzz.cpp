#include "fuzz/schema_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_schema({data, size});
  return 0;
}
