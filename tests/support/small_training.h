// A training that takes milliseconds: a tiny model with dropout, its experiment and its trainer.
#pragma once

#include <memory>
#include <vector>

#include "semfuse/checkpoint.h"
#include "semfuse/experiment.h"
#include "semfuse/synthetic_corpus.h"
#include "support/small_language_model.h"

namespace semfuse {

inline Experiment small_experiment(bool fusion = true) {
  Experiment experiment;
  experiment.seed = 17;
  experiment.corpus.train = 25;
  experiment.model = {.width = 8,
                      .layers = 1,
                      .heads = 2,
                      .feed_forward = 8,
                      .dropout = 0.2,
                      .attention = AttentionMask::causal,
                      .fusion = fusion,
                      .feature_head = 6};
  experiment.training.epochs = 3;
  experiment.training.batch = 10;
  experiment.training.learning_rate = 1e-2;
  return experiment;
}

// A model and its trainer, as `semfuse train` makes them from an experiment.
class SmallTraining {
 public:
  explicit SmallTraining(const Experiment& wanted, std::size_t threads = 1)
      : experiment(wanted),
        model(wanted.model, Vocabulary::from_words(synthetic_corpus_words()),
              FeatureBank(synthetic_lexicon(), wanted.features), wanted.seed),
        corpus(make_synthetic_corpus(synthetic_corpus_options(wanted))),
        trainer(model, corpus.train, wanted.training, {.seed = wanted.seed, .threads = threads}) {}

  void steps(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) losses.push_back(trainer.step().loss);
  }

  // Weights and both moments.
  std::vector<std::vector<float>> numbers() const {
    std::vector<std::vector<float>> all = values_of(model);
    const TrainingState state = trainer.state();
    for (const auto* moments : {&state.first_moments, &state.second_moments}) {
      for (const NamedParameter& moment : *moments) all.emplace_back(moment.values.begin(), moment.values.end());
    }
    return all;
  }

  Experiment experiment;
  LanguageModel model;
  Corpus corpus;
  Trainer trainer;
  std::vector<double> losses;
};

}  // namespace semfuse
