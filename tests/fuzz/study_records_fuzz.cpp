#include "fuzz/study_records_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_study_records({data, size});
  return 0;
}
