#include "config/memory_need.h"

#include <algorithm>
#include <cmath>

#include "config/fit.h"
#include "model/network.h"
#include "semfuse/synthetic_corpus.h"
#include "training/training_step.h"

namespace semfuse {
namespace {

// Gradients besides the first that adding those of a batch's leaves takes: one for each doubling.
double num_sums(const Experiment& experiment) {
  const bool files = experiment.data.kind == DataKind::files;
  const auto longest = static_cast<double>(files ? experiment.data.max_length : experiment.corpus.max_length);
  const auto leaf = static_cast<double>(experiment.training.grain == 0
                                            ? TrainingStep::kChunkTokens
                                            : std::min(experiment.training.grain, TrainingStep::kChunkTokens));
  return std::ceil(std::log2(std::max(1.0, static_cast<double>(experiment.training.batch) * longest / leaf)));
}

// Weights, gradients and two moments, and the weights packed forward and backward for training and for evaluation.
double model_bytes(const Experiment& experiment, std::size_t num_features) {
  const Network network(experiment.model, vocab_size_of(experiment), num_features);
  return (8.0 + num_sums(experiment)) * sizeof(float) * static_cast<double>(network.layout().block_size());
}

double data_bytes(const Experiment& experiment, std::size_t num_features) {
  if (experiment.data.kind == DataKind::files) return 0.0;  // They stay on the disk.
  constexpr double kWords = 8.0;                            // Of a clause.
  constexpr double kHeap = 16.0;                            // What an allocation costs besides its bytes.
  const CorpusOptions& corpus = experiment.corpus;
  const double words = kWords * (1.0 + corpus.second_clause);
  const double sentence = sizeof(Sentence) + kHeap + words * sizeof(std::string);
  const double tokens = words + 2.0;
  const double row = 2.0 * sizeof(TokenId) + static_cast<double>(num_features) * sizeof(float);
  const auto num_knobs = static_cast<double>(experiment.model.knobs.size());
  // A label for each knob, and for each set of knobs the probability to take part.
  const double labels = num_knobs == 0.0 ? 0.0 : num_knobs * sizeof(KnobLabel) + std::exp2(num_knobs) * sizeof(double);
  const double encoded = tokens * row + 2.0 * sizeof(std::size_t);
  const auto train = static_cast<double>(corpus.train), val = static_cast<double>(corpus.val);
  return (train + val) * sentence + train * (encoded + labels) + val * encoded;
}

}  // namespace

double memory_need(const Experiment& experiment) {
  if (!experiment.adapter.backbone.empty()) return 0.0;  // The backbone says it.
  constexpr std::size_t kManyFeatures = 128;             // Of natural text; how many is known when they are made.
  const bool natural = experiment.features.bank == FeatureSet::natural;
  const std::size_t num_features = !experiment.model.fusion ? 0
                                   : natural                ? kManyFeatures
                                             : FeatureBank(synthetic_lexicon(), experiment.features).size();
  return model_bytes(experiment, num_features) + data_bytes(experiment, num_features);
}

}  // namespace semfuse
