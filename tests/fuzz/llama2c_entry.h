// What the fuzzer does with bytes as a model of llama2.c; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "backbone/llama2c_file.h"
#include "backbone/model_import.h"
#include "fuzz/require.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are a whole model. Only Error may escape, in one line; what is accepted lies within the bytes.
inline bool fuzz_llama2c(std::span<const std::uint8_t> input) {
  try {
    const ForeignModel model = parse_llama2c(std::as_bytes(input), "fuzz");
    check_tensors(model, "fuzz");
    std::size_t num_bytes = 0;
    std::vector<float> row;
    for (const ForeignTensor& tensor : model.tensors) {
      num_bytes += tensor.bytes.size();
      fuzz_require(tensor.columns <= 8 * input.size());
      row.resize(tensor.columns);
      tensor.read_rows(tensor.rows - 1, 1, row);
    }
    fuzz_require(num_bytes <= input.size());
    fuzz_require(parse_backbone_spec(to_json(model.spec), "again") == model.spec);
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
