#include "ngram_comparison.h"

#include <fmt/format.h>

#include "semfuse/error.h"
#include "study_progress.h"
#include "terminal.h"

namespace semfuse {

bool wants_ngram(const std::optional<std::string>& against) {
  if (!against) return false;
  if (*against != "ngram")
    throw Error(fmt::format("--against {}: the only other model is ngram; use --against ngram", printable(*against)));
  return true;
}

std::function<void(double)> show_counting() {
  return show_progress("counting n-grams");
}

std::string to_text(const NgramComparison& ngram, const Evaluation& model) {
  std::string text = fmt::format("The {}-gram (Kneser-Ney) has counted {} tokens of the training texts", ngram.order,
                                 with_separators(ngram.tokens));
  if (ngram.stride > 1)
    text += fmt::format(", of which it read one in {}: all would not fit into memory", ngram.stride);
  text += model.perplexity < ngram.measured.perplexity ? ". The model wins."
                                                       : fmt::format(". The {}-gram wins.", ngram.order);
  if (model.attention == AttentionMask::bidirectional)
    text += " The model reads both ways and so sees what it predicts; the other reads only the past.";
  return text;
}

}  // namespace semfuse
