// What Python says of a generation, as a request of the library.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "model_handle.h"
#include "semfuse/generator.h"

namespace semfuse::python {

// Everything but the prompt.
struct GenerationCall {
  nanobind::dict knobs;       // As knob_settings() takes them.
  nanobind::handle guidance;  // A number, or one by knob.
  bool calibrated = true;
  std::uint64_t seed = 1;
  double temperature = 1.0;
  double top_p = 1.0;
  std::size_t top_k = 0;
  std::size_t max_tokens = 64;
  double repetition_penalty = 1.0;
  const CompiledGrammar* grammar = nullptr;  // Null: any words.
  bool explain = false;
};

// Throws Error for knobs that the model has not or that do not take such a value.
GenerationRequest request_of(const ModelHandle& model, const GenerationCall& call);

}  // namespace semfuse::python
