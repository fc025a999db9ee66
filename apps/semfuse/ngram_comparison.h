// What `semfuse evaluate --against ngram` reads and says.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "study/ngram_comparison.h"

namespace semfuse {

// Whether --against asks for it. Throws Error if it asks for something else.
bool wants_ngram(const std::optional<std::string>& against);

// Shows on standard error how counting goes on.
std::function<void(double done)> show_counting();

// What was counted, and which of the two is better.
std::string to_text(const NgramComparison& ngram, const Evaluation& model);

}  // namespace semfuse
