// What stands behind a Generator.
#pragma once

#include "generation/generator_parts.h"
#include "model/model_access.h"
#include "semfuse/generator.h"

namespace semfuse {

struct Generator::State {
  State(const LanguageModel& model, std::size_t num_threads) : parts(model, num_threads), threads(num_threads) {}

  GeneratorParts parts;
  std::size_t threads;

  // Threads that write texts: a pass of a pretrained model uses all itself, and reads its weights once for all texts.
  std::size_t most_workers() const { return ModelAccess::pretrained(parts.model) != nullptr ? 1 : threads; }
};

}  // namespace semfuse
