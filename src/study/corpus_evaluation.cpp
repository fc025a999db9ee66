#include "study/corpus_evaluation.h"

#include <span>
#include <vector>

#include "config/key_options.h"
#include "data/sentence_dataset.h"

namespace semfuse {
namespace {

// An n-gram model of the sentences that the model was trained on, beside it.
NgramComparison ngram_comparison(const Checkpoint& checkpoint, const Experiment& trained,
                                 std::span<const Sentence> sentences, const std::function<void(double)>& on_counting) {
  SyntheticCorpusOptions corpus = synthetic_corpus_options(trained);
  corpus.val = 0;
  const Vocabulary& vocabulary = checkpoint.model.vocabulary();
  const SentenceDatasetOptions options = {.max_length = trained.corpus.max_length};
  return compare_with_ngram(SentenceDataset(make_synthetic_corpus(corpus).train, vocabulary, options),
                            SentenceDataset(sentences, vocabulary, options), vocabulary.size(),
                            trained.training.count_end, on_counting);
}

}  // namespace

CorpusEvaluation evaluate_corpus(const Checkpoint& checkpoint, const CorpusEvaluationOptions& options) {
  const Experiment trained = checkpoint.experiment();
  Experiment experiment = trained;
  // The held-out words stay those of the training.
  experiment.corpus.held_out = synthetic_corpus_options(experiment).held_out;
  experiment.corpus.random_held_out = experiment.corpus.random_held_out_classes = false;
  set_from_option(experiment, "--seed", "seed", options.seed);
  set_from_option(experiment, "--sentences", "corpus.val", options.sentences);
  SyntheticCorpusOptions corpus = synthetic_corpus_options(experiment);
  corpus.train = 0;
  const std::vector<Sentence> sentences = make_synthetic_corpus(corpus).val;
  const Evaluation result = evaluate(checkpoint.model, sentences,
                                     {.held_out = corpus.held_out,
                                      .count_end = experiment.training.count_end,
                                      .max_length = experiment.corpus.max_length,
                                      .threads = options.threads,
                                      .on_progress = options.on_progress});
  const bool count_end = experiment.training.count_end;
  const Floors floors = {.here = synthetic_floor_on(sentences, corpus, count_end),
                         .expected = synthetic_floor(corpus, count_end),
                         .ratio = perplexity_over_floor(result, sentences, corpus, count_end)};
  const RunMetrics metrics = measure_run(checkpoint.model, experiment, sentences, result, options.threads);
  std::optional<NgramComparison> ngram;
  if (options.against_ngram) ngram = ngram_comparison(checkpoint, trained, sentences, options.on_counting);
  return {.experiment = experiment, .result = result, .floors = floors, .metrics = metrics, .ngram = ngram};
}

Json to_json(const CorpusEvaluation& evaluation) {
  const auto& [experiment, result, floors, metrics, ngram] = evaluation;
  const auto& [here, floor, ratio] = floors;
  Json json = {{"attention", to_string(result.attention)},
               {"seed", experiment.seed},
               {"sentences", experiment.corpus.val},
               {"positions", result.num_positions},
               {"ppl", result.perplexity},
               {"bits_per_byte", result.bits_per_byte},
               {"floor_ppl", floor.perplexity},
               {"sample_floor_ppl", here.perplexity},
               {"ppl_over_floor", ratio.ratio},
               {"ppl_over_floor_low", ratio.low},
               {"ppl_over_floor_high", ratio.high},
               {"seen_only_ppl", result.seen_only_perplexity},
               {"seen_only_floor_ppl", floor.seen_only_perplexity},
               {"seen_only_sample_floor_ppl", here.seen_only_perplexity},
               {"held_out_ce", result.held_out_cross_entropy},
               {"held_out_floor_ce", floor.held_out_cross_entropy},
               {"held_out_sample_floor_ce", here.held_out_cross_entropy},
               {"after_held_out_ce", result.after_held_out_cross_entropy},
               {"after_held_out_floor_ce", floor.after_held_out_cross_entropy},
               {"after_held_out_sample_floor_ce", here.after_held_out_cross_entropy},
               {"feature_mse", result.feature_mse}};
  add_model_metrics(json, metrics);
  if (ngram) json["ngram"] = to_json(*ngram, result);
  return json;
}

}  // namespace semfuse
