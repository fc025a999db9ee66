#include "fuzz/tokenizer_text_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  semfuse::fuzz_tokenizer_text({data, size});
  return 0;
}
