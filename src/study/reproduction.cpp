#include "study/reproduction.h"

#include <fmt/format.h>

#include <chrono>

#include "semfuse/checkpoint.h"

namespace semfuse {

std::string PaperRun::name() const {
  return fmt::format("{}-{}", model, experiment.seed);
}

std::string PaperRun::title() const {
  return fmt::format("{}, seed {}", model, experiment.seed);
}

std::optional<RunMetrics> finished_run(const StudyFolder& folder, const PaperRun& run) {
  const std::optional<std::string> metrics = folder.finished(run.name(), run.experiment);
  if (!metrics) return std::nullopt;
  return parse_run_metrics(*metrics, folder.metrics_path(run.name()).string());
}

std::optional<RunMetrics> train_and_measure(const StudyFolder& folder, const PaperRun& run, std::size_t threads,
                                            const GoOn& go_on) {
  const auto begin = std::chrono::steady_clock::now();
  const std::optional<TrainedModel> trained = train_model(run.experiment, threads, /*evaluate_epochs=*/true, go_on);
  if (!trained) return std::nullopt;
  RunMetrics metrics = measure_run(trained->model(), run.experiment, trained->assembly.data.corpus.val,
                                   trained->evaluations.back(), threads);
  const SyntheticCorpusOptions corpus = synthetic_corpus_options(run.experiment);
  const std::vector<Sentence>& sentences = trained->assembly.data.corpus.val;
  const bool count_end = run.experiment.training.count_end;
  metrics.floor = SampleFloor{.ppl = synthetic_floor_on(sentences, corpus, count_end).perplexity,
                              .over = perplexity_over_floor(trained->evaluations.back(), sentences, corpus, count_end)};
  for (const Evaluation& evaluation : trained->evaluations) metrics.ppl_by_epoch.push_back(evaluation.perplexity);
  metrics.step_ms = trained->step_ms;
  metrics.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  save_checkpoint(RunFiles{folder.make_run(run.name())}.model(), trained->model(), run.experiment);
  folder.keep(run.name(), run.experiment, to_json(metrics));
  return metrics;
}

}  // namespace semfuse
