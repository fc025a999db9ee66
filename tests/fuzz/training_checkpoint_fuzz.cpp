#include "fuzz/training_checkpoint_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_training_checkpoint({data, size});
  return 0;
}
