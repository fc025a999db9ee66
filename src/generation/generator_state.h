// What stands behind a Generator.
#pragma once

#include "generation/generator_parts.h"
#include "semfuse/generator.h"

namespace semfuse {

struct Generator::State {
  State(const LanguageModel& model, std::size_t num_threads) : parts(model), threads(num_threads) {}

  GeneratorParts parts;
  std::size_t threads;
};

}  // namespace semfuse
