// What the fuzzer does with bytes as a training checkpoint; the unit tests replay it over the seed corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/require.h"
#include "io/tensor_archive.h"
#include "run/training_checkpoint.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are a training checkpoint. Only Error may escape, in one line; what is accepted holds every number
// of its model and of both moments. The checksum may be missing: it would keep the fuzzer from all that is behind it.
inline bool fuzz_training_checkpoint(std::span<const std::uint8_t> input) {
  try {
    const auto* first = reinterpret_cast<const std::byte*>(input.data());
    TensorArchive archive = TensorArchive::parse({first, first + input.size()}, "fuzz");
    const TrainingCheckpoint checkpoint = parse_training_checkpoint(std::move(archive), "fuzz");
    const std::size_t num_parameters = checkpoint.saved.model.parameters().size();
    fuzz_require(checkpoint.archive.tensors().size() == 3 * num_parameters);
    fuzz_require(checkpoint.saved.model.parameter_count() * 3 * sizeof(float) <= input.size());
    fuzz_require(checkpoint.state.first_moments.size() == num_parameters);
    fuzz_require(checkpoint.state.second_moments.size() == num_parameters);
    for (const NamedParameter& moment : checkpoint.state.second_moments) {
      for (const float value : moment.values) fuzz_require(value >= 0.0f);
    }
    if (const auto experiment = checkpoint.saved.find_experiment()) validate(*experiment);
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
