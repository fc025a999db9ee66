#include "study/ngram_comparison.h"

namespace semfuse {

NgramComparison compare_with_ngram(const Dataset& training, const Dataset& texts, std::size_t vocab_size,
                                   bool count_end, const std::function<void(double done)>& on_progress) {
  const NgramModel model(training, vocab_size, {.count_end = count_end, .on_progress = on_progress});
  if (on_progress) on_progress(1.0);
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

}  // namespace semfuse
