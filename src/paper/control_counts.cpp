#include "paper/control_counts.h"

#include <algorithm>

#include "semfuse/error.h"

namespace semfuse {

ControlCounts count_controls(const Lexicon& lexicon, const std::vector<Generation>& generations,
                             const std::vector<std::string>& held_out) {
  ControlCounts counts;
  for (const Generation& generation : generations) {
    ++counts.trials;
    const std::vector<std::string>& words = generation.words;
    const std::string mark = words.empty() ? "" : words.back();
    if (mark == "!") ++counts.exclamation;
    if (mark == "?") ++counts.question;
    const LexiconEntry* adjective = words.size() < 2 ? nullptr : lexicon.find(words[words.size() - 2]);
    if (adjective == nullptr || adjective->word_class != WordClass::kAdjective || adjective->polarity == 0.0) {
      ++counts.other;
      continue;
    }
    ++(adjective->polarity > 0.0 ? counts.positive : counts.negative);
    if (std::find(held_out.begin(), held_out.end(), adjective->word) != held_out.end()) ++counts.held_out;
  }
  return counts;
}

std::vector<Generation> generate_many(const Generator& generator, const GenerationRequest& request,
                                      std::size_t trials) {
  std::vector<GenerationRequest> requests(trials, request);
  for (std::size_t i = 0; i < trials; ++i) requests[i].index = i;
  std::vector<Generation> generations = generator.generate(requests);
  for (const Generation& generation : generations) {
    if (generation.error) throw Error(*generation.error);
  }
  return generations;
}

}  // namespace semfuse
