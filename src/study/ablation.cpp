#include "study/ablation.h"

#include <fmt/format.h>

#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

AblationVariant make_variant(std::string name, std::string title, const std::string& preset, const std::string& change,
                             const std::vector<std::string>& settings) {
  AblationVariant variant{.name = std::move(name),
                          .title = std::move(title),
                          .preset = preset,
                          .settings = change,
                          .experiment = preset_experiment(preset)};
  for (const std::string& setting : settings) set_key(variant.experiment, setting);
  if (!change.empty()) set_key(variant.experiment, change);
  variant.experiment.training.count_end = false;
  validate(variant.experiment);
  return variant;
}

template <typename Measure>
Estimate interval_of(const std::vector<AblationRun>& runs, const Measure& measure) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const AblationRun& run : runs) values.push_back(measure(run));
  return estimate(values);
}

}  // namespace

std::vector<AblationVariant> ablation_variants(const std::vector<std::string>& settings) {
  const auto make = [&](const char* name, const char* title, const char* preset, const char* change) {
    return make_variant(name, title, preset, change, settings);
  };
  return {make("semfuse", "semfuse", "semfuse", ""),
          make("without_gate", "without the gate", "semfuse", "model.gate=false"),
          make("without_auxiliary_loss", "without the auxiliary loss", "semfuse", "training.feature_loss=0"),
          make("without_uniformizer", "without the uniformizer", "semfuse", "training.uniformity_loss=0"),
          make("without_output_rows", "without features in the output rows", "semfuse", "model.output_features=false"),
          make("without_identity_dropout", "without identity dropout", "semfuse", "training.identity_dropout=0"),
          make("without_class_loss", "without the class loss", "semfuse", "training.class_loss=0"),
          make("paper_kernel", "with the paper's flat kernel", "semfuse", "features.kernel=power"),
          make("learned_kernel", "with learned memberships", "semfuse", "features.learn_kernel=true"),
          make("causal_fusion", "the paper's fusion, causal", "causal-fusion", ""),
          make("causal_baseline", "the paper's baseline, causal", "causal-baseline", "")};
}

Experiment AblationVariant::on_seed(std::uint64_t seed) const {
  Experiment seeded = experiment;
  seeded.seed = seed;
  return seeded;
}

std::string AblationVariant::run_name(std::uint64_t seed) const {
  return fmt::format("{}-{}", name, seed);
}

std::optional<AblationRun> run_ablation(const AblationVariant& variant, std::uint64_t seed, std::size_t threads,
                                        const GoOn& go_on) {
  const Experiment experiment = variant.on_seed(seed);
  const std::optional<TrainedModel> trained = train_model(experiment, threads, /*evaluate_epochs=*/false, go_on);
  if (!trained) return std::nullopt;
  const std::vector<Sentence>& sentences = trained->assembly.data.corpus.val;
  const SyntheticCorpusOptions corpus = synthetic_corpus_options(experiment);
  const bool count_end = experiment.training.count_end;
  const Evaluation evaluation = evaluate(trained->model(), sentences, trained->assembly.evaluation);
  const FloorRatio ratio = perplexity_over_floor(evaluation, sentences, corpus, count_end);
  return AblationRun{.seed = seed,
                     .evaluation = evaluation,
                     .floor = synthetic_floor_on(sentences, corpus, count_end),
                     .over_floor_low = ratio.low,
                     .over_floor_high = ratio.high};
}

Estimate AblationRow::over_floor() const {
  if (runs.size() == 1) {
    const AblationRun& run = runs.front();
    return {.mean = run.over_floor(), .low = run.over_floor_low, .high = run.over_floor_high};
  }
  return interval_of(runs, [](const AblationRun& run) { return run.over_floor(); });
}
Estimate AblationRow::perplexity() const {
  return interval_of(runs, [](const AblationRun& run) { return run.evaluation.perplexity; });
}
Estimate AblationRow::seen_only() const {
  return interval_of(runs, [](const AblationRun& run) { return run.evaluation.seen_only_perplexity; });
}
Estimate AblationRow::held_out() const {
  return interval_of(runs, [](const AblationRun& run) { return run.evaluation.held_out_cross_entropy; });
}
Estimate AblationRow::after_held_out() const {
  return interval_of(runs, [](const AblationRun& run) { return run.evaluation.after_held_out_cross_entropy; });
}

}  // namespace semfuse
