// Sentences as `generate` prints them.
#pragma once

#include <string>

#include "semfuse/generator.h"
#include "terminal.h"

namespace semfuse {

// One JSON object, and a line end.
std::string json_line(const Generation& generation, bool explain);

// The sentence and a table of its tokens, all of which must have an explanation.
std::string explained(const Terminal& terminal, const Generation& generation);

}  // namespace semfuse
