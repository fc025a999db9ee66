// Trains the paper's fusion model on the built-in corpus and measures it.
#include <cstdio>
#include <exception>

#include "semfuse/checkpoint.h"
#include "semfuse/evaluation.h"

int main(int argc, char** argv) try {
  semfuse::Experiment experiment = semfuse::preset_experiment("paper-fusion");
  for (int i = 1; i < argc; ++i) semfuse::set_key(experiment, argv[i]);  // For example training.epochs=1
  validate(experiment);
  const semfuse::SyntheticCorpusOptions corpus_options = synthetic_corpus_options(experiment);
  const semfuse::Corpus corpus = make_synthetic_corpus(corpus_options);
  semfuse::LanguageModel model(experiment.model, semfuse::Vocabulary::from_words(semfuse::synthetic_corpus_words()),
                               semfuse::FeatureBank(semfuse::Lexicon::synthetic(), experiment.features),
                               experiment.seed);
  semfuse::Trainer trainer(model, corpus.train, experiment.training, {.seed = experiment.seed});
  while (!trainer.done()) {
    const semfuse::StepReport step = trainer.step();
    if (!step.ends_epoch) continue;
    const semfuse::Evaluation result = semfuse::evaluate(model, corpus.val, {.held_out = corpus_options.held_out});
    std::printf("epoch %zu: perplexity %.3f, seen-only %.3f\n", step.epoch, result.perplexity,
                result.seen_only_perplexity);
  }
  semfuse::save_checkpoint("model.safetensors", model, experiment);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
