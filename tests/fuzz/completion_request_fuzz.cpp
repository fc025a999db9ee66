#include "fuzz/completion_request_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_completion_request({data, size});
  return 0;
}
