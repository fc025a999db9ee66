#include "evaluation/focus_words.h"

#include <cmath>
#include <map>

#include "evaluation/corpus_pass.h"

namespace semfuse {

std::vector<WordCrossEntropy> word_cross_entropies(const LanguageModel& model, std::span<const Sentence> sentences,
                                                   const std::vector<std::string>& words,
                                                   const EvaluationOptions& options) {
  // By id, in the order of the positions, so that the sums do not depend on the threads.
  std::map<std::size_t, WordCrossEntropy> by_id;
  std::vector<WordCrossEntropy> result;
  for (const std::string& word : words) {
    result.push_back({.word = word});
    if (const auto id = model.vocabulary().find(word)) by_id[static_cast<std::size_t>(*id)] = {.word = word};
  }
  for_each_target(model, sentences, options, [&](std::size_t target, double cross_entropy) {
    const auto found = by_id.find(target);
    if (found == by_id.end()) return;
    found->second.occurrences += 1;
    found->second.cross_entropy += cross_entropy;
  });
  for (WordCrossEntropy& word : result) {
    const auto id = model.vocabulary().find(word.word);
    if (id) word = by_id[static_cast<std::size_t>(*id)];
    word.cross_entropy = word.occurrences > 0 ? word.cross_entropy / static_cast<double>(word.occurrences) : NAN;
  }
  return result;
}

}  // namespace semfuse
