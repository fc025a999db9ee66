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

NgramComparison compare_with_ngram(const Dataset& training, const Dataset& texts, std::size_t vocab_size,
                                   bool count_end) {
  StudyProgress progress;
  const NgramModel model(training, vocab_size, {.count_end = count_end, .on_progress = [&](double done) {
                                                  progress.show("counting n-grams", done);
                                                }});
  progress.clear();
  return {.measured = evaluate(model, texts, count_end),
          .order = model.order(),
          .tokens = model.num_tokens(),
          .stride = model.stride()};
}

Json to_json(const NgramComparison& ngram, const Evaluation& model) {
  return {{"order", ngram.order},
          {"perplexity", ngram.measured.perplexity},
          {"bits_per_byte", ngram.measured.bits_per_byte},
          {"tokens", ngram.tokens},
          {"stride", ngram.stride},
          {"model_wins", model.perplexity < ngram.measured.perplexity}};
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
