#include "fuzz/steering_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_steering({data, size});
  return 0;
}
