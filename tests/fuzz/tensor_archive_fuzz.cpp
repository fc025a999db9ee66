#include "fuzz/tensor_archive_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_tensor_archive({data, size});
  return 0;
}
