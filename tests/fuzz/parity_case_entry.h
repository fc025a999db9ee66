// What the fuzzer does with bytes as a parity case; the unit tests replay it over the seed corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/require.h"
#include "io/tensor_archive.h"
#include "parity_check/parity_case.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are a case. Only Error may escape, in one line; what is accepted holds every number that its steps
// are computed from and compared with.
inline bool fuzz_parity_case(std::span<const std::uint8_t> input) {
  try {
    const auto* first = reinterpret_cast<const std::byte*>(input.data());
    const ParityCase c(TensorArchive::parse({first, first + input.size()}, "fuzz"), "fuzz");
    const Network network(c.model, c.vocab_size, c.num_features);
    fuzz_require(3 * network.layout().parameter_count() * sizeof(float) <= input.size());
    for (const ParameterInfo& info : network.layout().entries()) {
      for (const char* kind : {"param.", "grad.", "after."})
        fuzz_require(c.archive.floats(kind + info.name).size() == info.size);
    }
    fuzz_require(c.archive.floats("out.logits").size() == c.num_rows * c.row_length * c.vocab_size);
    fuzz_require(c.batch.num_sentences() == c.num_rows && c.batch.longest() <= c.row_length);
    fuzz_require(c.batch.features.size() == c.batch.num_tokens() * c.num_features);
    fuzz_require(c.losses.classes.size() == 2 && c.num_steps <= c.archive.tensors().size());
    for (const TokenId id : c.batch.targets) fuzz_require(id >= 0 && static_cast<std::size_t>(id) < c.vocab_size);
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
