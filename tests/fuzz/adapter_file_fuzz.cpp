#include "fuzz/adapter_file_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_adapter_file({data, size});
  return 0;
}
