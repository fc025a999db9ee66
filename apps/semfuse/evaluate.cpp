#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>

#include "command.h"
#include "ngram_comparison.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "settings.h"
#include "study/corpus_evaluation.h"
#include "study_progress.h"
#include "table.h"
#include "table_options.h"
#include "terminal.h"
#include "text_evaluation.h"

namespace semfuse {
namespace {

struct EvaluateFlags {
  std::string run;
  std::optional<std::string> seed;
  std::optional<std::string> sentences;
  std::vector<std::string> data;
  TableFlags table;
  std::optional<std::string> against;
  std::optional<std::string> threads;
  bool json = false;
};

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
             {.text = "tried"},
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

// The floor is an expectation, a perplexity a measurement: what is within chance is called so.
std::string ratio_text(const Evaluation& result, const FloorRatio& ratio) {
  std::string text =
      fmt::format("The model's perplexity is {} times the floor's on the same sentences", readable(ratio.ratio, 4));
  if (std::isfinite(ratio.low))
    text += fmt::format(" (95 %: {} to {})", readable(ratio.low, 4), readable(ratio.high, 4));
  text += ".\n";
  if (ratio.ratio >= 1.0) return text;
  if (!(ratio.high < 1.0)) return text + "It is below the floor by chance: the interval holds 1.\n";
  return text + (result.attention == AttentionMask::bidirectional
                     ? "It is below the floor: its attention is bidirectional and reads what it predicts.\n"
                     : "It is below the floor, by chance in one of 40 cases; see whether it looks ahead with "
                       "`semfuse audit`.\n");
}

std::string as_text(const Terminal& terminal, const Experiment& experiment, const Evaluation& result,
                    const Floors& floors, const RunMetrics& metrics) {
  Table table({Table::Align::left, Table::Align::right});
  table.add({{}, {.text = "model"}, {.text = "floor here"}, {.text = "expected"}});
  const auto add = [&](const char* what, double value, double EntropyFloor::*floor) {
    if (std::isnan(value)) return;
    table.add({{.text = what},
               {.text = readable(value, 4)},
               {.text = readable(floors.here.*floor, 4)},
               {.text = readable(floors.expected.*floor, 4)}});
  };
  add("perplexity", result.perplexity, &EntropyFloor::perplexity);
  add("perplexity, seen words", result.seen_only_perplexity, &EntropyFloor::seen_only_perplexity);
  add("cross-entropy of a held-out word", result.held_out_cross_entropy, &EntropyFloor::held_out_cross_entropy);
  add("cross-entropy after a held-out word", result.after_held_out_cross_entropy,
      &EntropyFloor::after_held_out_cross_entropy);
  std::string text = fmt::format(
      "{} attention, {} validation sentences of seed {}, {} positions ({})\n\n", to_string(result.attention),
      with_separators(experiment.corpus.val), experiment.seed, with_separators(result.num_positions),
      experiment.training.count_end ? "the one that reads <eos> counts, as in the paper" : "those with a target");
  text += table.text(terminal, 2, 2);
  text +=
      "\nThe floor is what a predictor that knows the generator reaches by reading only\n"
      "the past: here on these very sentences, expected over all. Among seen words\n"
      "alone a model that expects no held-out word can be below it.\n";
  text += ratio_text(result, floors.ratio);
  return text + more_metrics(terminal, metrics);
}

int run_evaluation(const EvaluateFlags& options) {
  const bool against_ngram = wants_ngram(options.against);
  if (options.data.empty()) options.table.require_none();
  const Checkpoint checkpoint = load_checkpoint(options.run);
  const Experiment trained = checkpoint.experiment();
  const std::size_t threads = parse_threads(options.threads);
  if (trained.data.kind == DataKind::files) {
    if (options.seed || options.sentences)
      throw Error("--seed and --sentences draw the synthetic corpus; this model was trained on files, use --data");
    evaluate_on_texts(checkpoint, trained,
                      {.data = options.data,
                       .table = options.table,
                       .threads = threads,
                       .against_ngram = against_ngram,
                       .on_counting = show_counting(),
                       .on_progress = show_progress("measuring the model")},
                      options.json);
    return 0;
  }
  if (!options.data.empty())
    throw Error(
        "--data is for models that were trained on files; this one knows the words of the synthetic corpus only");
  const CorpusEvaluation evaluation =
      evaluate_corpus(checkpoint, {.seed = options.seed,
                                   .sentences = options.sentences,
                                   .threads = threads,
                                   .against_ngram = against_ngram,
                                   .on_counting = show_counting(),
                                   .on_progress = show_progress("measuring the model")});
  const Terminal terminal(stdout);
  if (options.json) {
    terminal.print(to_json(evaluation).dump() + '\n');
    return 0;
  }
  const auto& [experiment, result, floors, metrics, ngram] = evaluation;
  std::string text = as_text(terminal, experiment, result, floors, metrics);
  if (ngram)
    text += fmt::format("\nA {}-gram has a perplexity of {}. {}\n", ngram->order,
                        readable(ngram->measured.perplexity, 4), to_text(*ngram, result));
  terminal.print(terminal.flowed_lines(text));
  return 0;
}

}  // namespace

Command evaluate_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand(
      "evaluate", "Measure all of a model: perplexity beside the entropy floor, words, controls");
  const auto options = std::make_shared<EvaluateFlags>();
  app->add_option("RUN", options->run, "A run folder or its model.safetensors")->required();
  app->add_option("--seed", options->seed, "Draw the validation sentences by another seed (default: the run's)")
      ->type_name("N");
  app->add_option("--sentences", options->sentences, "Validation sentences (default: the run's)")->type_name("N");
  app->add_option("--data", options->data, "Files to measure a model of texts on (default: the run's validation texts)")
      ->type_name("FILE");
  options->table.add_to(*app);
  options->table.add_skip_bad(*app);
  app->add_option("--against", options->against,
                  "Another model to measure beside it: `ngram`, a 5-gram with Kneser-Ney smoothing of the same tokens "
                  "and training texts")
      ->type_name("MODEL");
  app->add_option("--threads", options->threads, "Threads to compute with; the result is the same for any number")
      ->type_name("N");
  app->add_flag("--json", options->json, "Print one JSON object");
  app->footer(
      "Examples:\n"
      "  semfuse evaluate run\n"
      "  semfuse evaluate run --seed 7 --sentences 5000 --json\n"
      "  semfuse evaluate model --data other.tsv\n"
      "  semfuse evaluate model --data other.csv --heading label,title,text\n"
      "  semfuse evaluate model --against ngram\n");
  return {.app = app, .purpose = "this evaluation", .run = [options] { return run_evaluation(*options); }};
}

}  // namespace semfuse
