#include "fuzz/checkpoint_settings_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_checkpoint_settings({data, size});
  return 0;
}
