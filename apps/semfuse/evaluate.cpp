#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "command.h"
#include "io/json.h"
#include "report/run_metrics.h"
#include "semfuse/checkpoint.h"
#include "semfuse/evaluation.h"
#include "settings.h"
#include "terminal.h"

namespace semfuse {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string run;
  std::optional<std::string> seed;
  std::optional<std::string> sentences;
  std::optional<std::string> threads;
  bool json = false;
};

Json as_json(const Experiment& experiment, const Evaluation& result, const EntropyFloor& floor,
             const RunMetrics& metrics) {
  Json json = {{"attention", to_string(result.attention)},
               {"seed", experiment.seed},
               {"sentences", experiment.corpus.val},
               {"positions", result.num_positions},
               {"ppl", finite_or_null(result.perplexity)},
               {"floor_ppl", finite_or_null(floor.perplexity)},
               {"ppl_over_floor", finite_or_null(result.perplexity / floor.perplexity)},
               {"seen_only_ppl", finite_or_null(result.seen_only_perplexity)},
               {"seen_only_floor_ppl", finite_or_null(floor.seen_only_perplexity)},
               {"held_out_ce", finite_or_null(result.held_out_cross_entropy)},
               {"held_out_floor_ce", finite_or_null(floor.held_out_cross_entropy)},
               {"after_held_out_ce", finite_or_null(result.after_held_out_cross_entropy)},
               {"after_held_out_floor_ce", finite_or_null(floor.after_held_out_cross_entropy)},
               {"feature_mse", finite_or_null(result.feature_mse)}};
  const Json more = Json::parse(to_json(metrics));
  for (const char* key : {"parameters", "focus", "controls", "samples"}) json[key] = more.at(key);
  return json;
}

// What the paper reports besides perplexity, as far as the model has it.
std::string more_metrics(const Terminal& terminal, const RunMetrics& metrics) {
  std::string text = fmt::format("\n{} parameters", with_separators(metrics.parameters));
  if (std::isfinite(metrics.feature_mse))
    text += fmt::format("; features are read back with a mean squared error of {:.5f}", metrics.feature_mse);
  text += "\n\n";

  Table words({Table::Align::left, Table::Align::right});
  words.add({{.text = "word"}, {.text = "occurrences"}, {.text = "cross-entropy"}});
  for (const WordCrossEntropy& word : metrics.focus) {
    words.add({{.text = word.word},
               {.text = with_separators(word.occurrences)},
               {.text = std::isfinite(word.cross_entropy) ? fmt::format("{:.5f}", word.cross_entropy) : "-"}});
  }
  text += words.text(terminal, 2, 2);
  if (!metrics.controls) return text;

  Table table({Table::Align::left, Table::Align::right});
  table.add({{.text = "asked for"},
             {.text = "sentences"},
             {.text = "positive"},
             {.text = "negative"},
             {.text = "other"},
             {.text = "!"},
             {.text = "?"},
             {.text = "held-out"}});
  const auto add = [&](const char* setting, const ControlCounts& counts) {
    std::vector<Table::Cell> cells = {{.text = setting}};
    for (const std::size_t count : {counts.trials, counts.positive, counts.negative, counts.other, counts.exclamation,
                                    counts.question, counts.held_out})
      cells.push_back({.text = std::to_string(count)});
    table.add(std::move(cells));
  };
  add("positive, strong", metrics.controls->hard_positive);
  add("negative", metrics.controls->negative);
  add("negative, question", metrics.controls->hard_negative);
  add("positive, strong, usual nucleus", metrics.controls->positive_usual_nucleus);
  add("negative, usual nucleus", metrics.controls->negative_usual_nucleus);
  return text + "\nSentences under the paper's controls, by their adjective and their mark:\n\n" +
         table.text(terminal, 2, 2);
}

std::string as_text(const Terminal& terminal, const Experiment& experiment, const Evaluation& result,
                    const EntropyFloor& floor, const RunMetrics& metrics) {
  Table table({Table::Align::left, Table::Align::right});
  table.add({{}, {.text = "model"}, {.text = "floor"}, {.text = "ratio"}});
  const auto add = [&](const char* what, double value, double lowest, bool with_ratio) {
    if (std::isnan(value)) return;
    table.add({{.text = what},
               {.text = fmt::format("{:.4f}", value)},
               {.text = fmt::format("{:.4f}", lowest)},
               {.text = with_ratio ? fmt::format("{:.4f}", value / lowest) : ""}});
  };
  add("perplexity", result.perplexity, floor.perplexity, true);
  add("perplexity, seen words", result.seen_only_perplexity, floor.seen_only_perplexity, true);
  add("cross-entropy of a held-out word", result.held_out_cross_entropy, floor.held_out_cross_entropy, false);
  add("cross-entropy after a held-out word", result.after_held_out_cross_entropy, floor.after_held_out_cross_entropy,
      false);
  std::string text = fmt::format(
      "{} attention, {} validation sentences of seed {}, {} positions ({})\n\n", to_string(result.attention),
      with_separators(experiment.corpus.val), experiment.seed, with_separators(result.num_positions),
      experiment.training.count_end ? "the one that reads <eos> counts, as in the paper" : "those with a target");
  text += table.text(terminal, 2, 2);
  text += "\nThe floor is what a predictor that knows the generator reaches by reading only the past.\n";
  if (result.perplexity < 0.98 * floor.perplexity) {
    text +=
        fmt::format("This model is below it: {}\n", result.attention == AttentionMask::bidirectional
                                                        ? "its attention is bidirectional and reads what it predicts."
                                                        : "something of it looks ahead; see `semfuse audit`.");
  }
  return text + more_metrics(terminal, metrics);
}

int run_evaluation(const Options& options) {
  Checkpoint checkpoint = load_checkpoint(options.run);
  Experiment& experiment = checkpoint.experiment;
  // The held-out words stay those of the training.
  experiment.corpus.held_out = synthetic_corpus_options(experiment).held_out;
  experiment.corpus.random_held_out = experiment.corpus.random_held_out_classes = false;
  set_from_option(experiment, "--seed", "seed", options.seed);
  set_from_option(experiment, "--sentences", "corpus.val", options.sentences);
  SyntheticCorpusOptions corpus = synthetic_corpus_options(experiment);
  corpus.train = 0;
  const std::size_t threads = parse_threads(options.threads);
  const Evaluation result = evaluate(checkpoint.model, make_synthetic_corpus(corpus).val,
                                     {.held_out = corpus.held_out,
                                      .count_end = experiment.training.count_end,
                                      .max_length = experiment.corpus.max_length,
                                      .threads = threads});
  const EntropyFloor floor = synthetic_floor(corpus, experiment.training.count_end);
  const RunMetrics metrics = measure_run(checkpoint.model, experiment, threads);
  const Terminal terminal(stdout);
  terminal.print(options.json ? as_json(experiment, result, floor, metrics).dump() + '\n'
                              : as_text(terminal, experiment, result, floor, metrics));
  return 0;
}

}  // namespace

Command evaluate_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "evaluate", "Measure all of a model: perplexity beside the entropy floor, words, controls");
  const auto options = std::make_shared<Options>();
  app->add_option("RUN", options->run, "A run folder or its model.safetensors")->required();
  app->add_option("--seed", options->seed, "Draw the validation sentences by another seed (default: the run's)")
      ->type_name("N");
  app->add_option("--sentences", options->sentences, "Validation sentences (default: the run's)")->type_name("N");
  app->add_option("--threads", options->threads, "Threads to compute with; the result is the same for any number")
      ->type_name("N");
  app->add_flag("--json", options->json, "Print one JSON object");
  app->footer(
      "Examples:\n"
      "  semfuse evaluate run\n"
      "  semfuse evaluate run --seed 7 --sentences 5000 --json\n");
  return {.app = app, .purpose = "this evaluation", .run = [options] { return run_evaluation(*options); }};
}

}  // namespace semfuse
