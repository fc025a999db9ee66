// What the fuzzer does with bytes as a saved model; the unit tests replay it over the seed corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/require.h"
#include "io/tensor_archive.h"
#include "model/model_spec.h"
#include "run/checkpoint.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are a model. Only Error may escape, in one line; what is accepted holds every number of its model
// and a spec that is written and read again as it is.
inline bool fuzz_checkpoint(std::span<const std::uint8_t> input) {
  try {
    const auto* first = reinterpret_cast<const std::byte*>(input.data());
    const TensorArchive archive = TensorArchive::parse({first, first + input.size()}, "fuzz");
    const Checkpoint checkpoint = parse_checkpoint(archive, "fuzz");
    fuzz_require(checkpoint.model.parameters().size() == archive.tensors().size());
    fuzz_require(checkpoint.model.parameter_count() * sizeof(float) <= input.size());
    const Metadata spec = to_metadata(spec_of(checkpoint.model));
    fuzz_require(to_metadata(parse_model_spec(spec, "fuzz")) == spec);
    if (const auto experiment = checkpoint.find_experiment()) validate(*experiment);
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
