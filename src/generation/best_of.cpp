#include <fmt/format.h>

#include <cmath>

#include "generation/prefix_classifier.h"
#include "semfuse/error.h"
#include "semfuse/generator.h"
#include "semfuse/steering.h"

namespace semfuse {

TextJudge head_judge(const LanguageModel& model, const SteeringHead& head, double target) {
  if (head.method != SteeringMethod::fudge) {
    throw Error("best-of takes the classifier of a fudge head as its judge; train one with --method fudge");
  }
  if (head.model != steering_fingerprint(model)) {
    throw Error("the head was trained on another model than this one; train one with `semfuse steer train`");
  }
  return [&model, classifier = PrefixClassifier(head, model.vocabulary().size()),
          target](std::span<const std::string> texts) {
    std::vector<double> scores;
    for (const std::string& text : texts) {
      std::vector<TokenId> tokens = {Vocabulary::kBos};
      for (const TokenId id : model.encode(text)) tokens.push_back(id);
      tokens.push_back(Vocabulary::kEos);
      scores.push_back(classifier.log_odds(tokens) * (2.0 * target - 1.0));
    }
    return scores;
  };
}

std::vector<Generation> best_of(const Generator& generator, std::span<const GenerationRequest> requests, std::size_t n,
                                const TextJudge& judge) {
  if (n == 0) throw Error("best-of takes the best of 1 text or more");
  std::vector<GenerationRequest> all;
  for (const GenerationRequest& request : requests) {
    for (std::size_t j = 0; j < n; ++j) {
      all.push_back(request);
      all.back().index = request.index * n + j;
    }
  }
  std::vector<Generation> made = generator.generate(all);
  std::vector<std::string> texts;
  texts.reserve(made.size());
  for (const Generation& each : made) texts.push_back(each.text);
  const std::vector<double> scores = judge(texts);
  if (scores.size() != texts.size()) {
    throw Error(fmt::format("the judge wrote {} numbers for {} texts; it must write one for each", scores.size(),
                            texts.size()));
  }
  std::vector<Generation> best;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    std::size_t chosen = i * n;
    for (std::size_t j = i * n; j < (i + 1) * n; ++j) {
      if (std::isnan(scores[j])) throw Error("the judge wrote what is no number; it must write one for each text");
      const bool better = scores[j] > scores[chosen];
      if (!made[j].error && (made[chosen].error || better)) chosen = j;
    }
    best.push_back(std::move(made[chosen]));
  }
  return best;
}

}  // namespace semfuse
