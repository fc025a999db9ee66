#include "fuzz/packed_bytes_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_packed_bytes({data, size});
  return 0;
}
