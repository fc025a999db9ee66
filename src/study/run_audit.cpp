#include "study/run_audit.h"

#include <span>
#include <vector>

#include "semfuse/assembly.h"

namespace semfuse {
namespace {

// The first tokens of texts, each as a word.
std::vector<Sentence> beginnings(const Dataset& dataset, const Vocabulary& vocabulary, std::size_t count) {
  constexpr std::size_t kMostTokens = 16;  // Each is changed in turn, with all that follow.
  std::vector<Sentence> sentences;
  for (std::size_t text = 0; text < dataset.size() && sentences.size() < count; ++text) {
    const std::span<const TokenId> ids = dataset.ids(text);
    if (ids.front() != Vocabulary::kBos || ids.size() < 3) continue;  // A part of a text, or an empty one.
    sentences.emplace_back();
    for (std::size_t i = 1; i < ids.size() && ids[i] > Vocabulary::kEos && i <= kMostTokens; ++i)
      sentences.back().push_back(vocabulary.word(ids[i]));
  }
  return sentences;
}

}  // namespace

Audit audit_run(const Checkpoint& checkpoint, std::size_t sentences, std::size_t threads,
                const std::function<void(double done)>& on_progress) {
  Experiment experiment = checkpoint.experiment();
  experiment.corpus.val = sentences;
  const ExperimentData data = validation_data(experiment, checkpoint.model, threads);
  return audit(checkpoint.model,
               data.val ? beginnings(*data.val, checkpoint.model.vocabulary(), sentences) : data.corpus.val,
               experiment.seed, threads, on_progress);
}

bool looks_ahead(const Audit& result) {
  return result.max_logit_change != 0.0 || !result.features_looking_ahead.empty();
}

}  // namespace semfuse
