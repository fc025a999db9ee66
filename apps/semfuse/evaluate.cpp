#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "command.h"
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

// JSON has no NaN and no infinity.
Json finite_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json as_json(const Experiment& experiment, const Evaluation& result, const EntropyFloor& floor) {
  return {{"attention", to_string(result.attention)},
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
}

std::string as_text(const Terminal& terminal, const Experiment& experiment, const Evaluation& result,
                    const EntropyFloor& floor) {
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
  return text;
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
  const Evaluation result = evaluate(checkpoint.model, make_synthetic_corpus(corpus).val,
                                     {.held_out = corpus.held_out,
                                      .count_end = experiment.training.count_end,
                                      .max_length = experiment.corpus.max_length,
                                      .threads = parse_threads(options.threads)});
  const EntropyFloor floor = synthetic_floor(corpus, experiment.training.count_end);
  const Terminal terminal(stdout);
  terminal.print(options.json ? as_json(experiment, result, floor).dump() + '\n'
                              : as_text(terminal, experiment, result, floor));
  return 0;
}

}  // namespace

Command evaluate_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("evaluate", "Measure a model beside the entropy floor of its corpus");
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
