#include "report/ablation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "evaluation/statistics.h"
#include "io/json.h"

namespace semfuse {
namespace {

using Json = nlohmann::ordered_json;

AblationVariant make_variant(std::string name, std::string title, std::string preset, std::string change,
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
MeanInterval interval_of(const std::vector<AblationRun>& runs, const Measure& measure) {
  std::vector<double> values;
  for (const AblationRun& run : runs) values.push_back(measure(run));
  return mean_interval(values);
}

std::string text_of(const MeanInterval& value, int digits) {
  if (std::isnan(value.mean)) return "–";
  if (std::isnan(value.half_width)) return fmt::format("{:.{}f}", value.mean, digits);
  return fmt::format("{:.{}f} ± {:.{}f}", value.mean, digits, value.half_width, digits);
}

Json json_of(const MeanInterval& value) {
  return {{"mean", finite_or_null(value.mean)}, {"ci95", finite_or_null(value.half_width)}};
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

std::optional<AblationRun> run_ablation(const AblationVariant& variant, std::uint64_t seed, std::size_t threads,
                                        const std::function<bool()>& go_on) {
  Experiment experiment = variant.experiment;
  experiment.seed = seed;
  const SyntheticCorpusOptions options = synthetic_corpus_options(experiment);
  const Corpus corpus = make_synthetic_corpus(options);
  LanguageModel model(experiment.model, Vocabulary::from_words(synthetic_corpus_words()),
                      FeatureBank(Lexicon::synthetic(), experiment.features), seed);
  Trainer trainer(model, corpus.train, experiment.training,
                  {.seed = seed, .threads = threads, .max_length = experiment.corpus.max_length});
  while (!trainer.done()) {
    if (!go_on()) return std::nullopt;
    trainer.step();
  }
  return AblationRun{.seed = seed,
                     .evaluation = evaluate(model, corpus.val,
                                            {.held_out = options.held_out,
                                             .count_end = experiment.training.count_end,
                                             .max_length = experiment.corpus.max_length,
                                             .threads = threads}),
                     .floor = synthetic_floor(options, experiment.training.count_end)};
}

MeanInterval mean_interval(const std::vector<double>& values) {
  const Estimate found = estimate(values);
  return {.mean = found.mean, .half_width = found.high - found.mean};
}

MeanInterval AblationRow::over_floor() const {
  return interval_of(runs, [](const AblationRun& run) { return run.evaluation.perplexity / run.floor.perplexity; });
}
MeanInterval AblationRow::perplexity() const {
  return interval_of(runs, [](const AblationRun& run) { return run.evaluation.perplexity; });
}
MeanInterval AblationRow::seen_only() const {
  return interval_of(runs, [](const AblationRun& run) { return run.evaluation.seen_only_perplexity; });
}
MeanInterval AblationRow::held_out() const {
  return interval_of(runs, [](const AblationRun& run) { return run.evaluation.held_out_cross_entropy; });
}
MeanInterval AblationRow::after_held_out() const {
  return interval_of(runs, [](const AblationRun& run) { return run.evaluation.after_held_out_cross_entropy; });
}

std::string ablation_table(const std::vector<AblationRow>& rows) {
  std::string text =
      "| model | runs | perplexity | over the floor | perplexity, seen words | CE of a held-out word | CE after one |\n"
      "|---|---|---|---|---|---|---|\n";
  const AblationRun* any = nullptr;
  for (const AblationRow& row : rows) {
    if (row.runs.empty()) continue;
    any = &row.runs.front();
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", row.variant.title, row.runs.size(),
                        text_of(row.perplexity(), 3), text_of(row.over_floor(), 4), text_of(row.seen_only(), 3),
                        text_of(row.held_out(), 3), text_of(row.after_held_out(), 3));
  }
  if (any != nullptr) {
    text += fmt::format("| the true distribution | | {:.3f} | 1 | {:.3f} | {:.3f} | {:.3f} |\n", any->floor.perplexity,
                        any->floor.seen_only_perplexity, any->floor.held_out_cross_entropy,
                        any->floor.after_held_out_cross_entropy);
  }
  return text + "\nMeans over seeds with 95 % intervals; causal attention, positions with a target.\n";
}

std::string ablation_json(const std::vector<AblationRow>& rows) {
  Json variants = Json::array();
  for (const AblationRow& row : rows) {
    Json runs = Json::array();
    for (const AblationRun& run : row.runs) {
      runs.push_back({{"seed", run.seed},
                      {"attention", to_string(run.evaluation.attention)},
                      {"ppl", finite_or_null(run.evaluation.perplexity)},
                      {"floor_ppl", finite_or_null(run.floor.perplexity)},
                      {"ppl_over_floor", finite_or_null(run.evaluation.perplexity / run.floor.perplexity)},
                      {"seen_only_ppl", finite_or_null(run.evaluation.seen_only_perplexity)},
                      {"held_out_ce", finite_or_null(run.evaluation.held_out_cross_entropy)},
                      {"after_held_out_ce", finite_or_null(run.evaluation.after_held_out_cross_entropy)}});
    }
    variants.push_back({{"name", row.variant.name},
                        {"preset", row.variant.preset},
                        {"change", row.variant.settings},
                        {"ppl", json_of(row.perplexity())},
                        {"ppl_over_floor", json_of(row.over_floor())},
                        {"seen_only_ppl", json_of(row.seen_only())},
                        {"held_out_ce", json_of(row.held_out())},
                        {"after_held_out_ce", json_of(row.after_held_out())},
                        {"runs", std::move(runs)}});
  }
  return Json{{"variants", std::move(variants)}}.dump(1) + '\n';
}

}  // namespace semfuse
