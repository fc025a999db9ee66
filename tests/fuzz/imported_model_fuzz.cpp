#include "fuzz/imported_model_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_imported_model({data, size});
  return 0;
}
