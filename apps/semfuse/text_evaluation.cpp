#include "text_evaluation.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "ngram_comparison.h"
#include "study_progress.h"
#include "table.h"
#include "terminal.h"

namespace semfuse {

DataProgress show_data_progress(bool quiet) {
  const auto progress = std::make_shared<StudyProgress>(quiet);
  return [progress](double done) {
    progress->show("preparing the texts", done);
    if (done >= 1.0) progress->clear();
    return true;
  };
}

namespace {

std::string to_text(const HeldOutEvaluation& result, const Terminal& terminal) {
  if (result.held_out.num_words == 0) {
    return terminal.flowed(fmt::format("{} texts have held-out words, none of which is a token of the model.\n",
                                       with_separators(result.num_texts)));
  }
  Table table({Table::Align::left, Table::Align::right});
  table.add({{.text = "cross-entropy of a word, nats"}, {.text = "model"}, {.text = "unigram"}, {.text = "met"}});
  const auto add = [&](const char* what, const WordGroup& group) {
    if (group.num_positions == 0) return;
    table.add({{.text = what},
               {.text = fmt::format("{:.3f}", group.cross_entropy)},
               {.text = std::isfinite(group.unigram) ? fmt::format("{:.3f}", group.unigram) : std::string()},
               {.text = with_separators(group.num_positions)}});
  };
  add("held-out words", result.held_out);
  add("seen words as frequent as these", result.matched);
  add("all seen words", result.others);
  add("what follows a held-out word", result.after);
  return fmt::format("On {} texts that were kept out of training for their words:\n\n{}\n",
                     with_separators(result.num_texts), table.text(terminal, 2, 2));
}

}  // namespace

void evaluate_on_texts(const Checkpoint& checkpoint, const Experiment& experiment, const TextEvaluationOptions& options,
                       bool json) {
  const TextEvaluation evaluation = evaluate_texts(checkpoint, experiment, options);
  for (const std::string& note : evaluation.notes) notify(note);
  const ExperimentData& data = evaluation.data;
  const Evaluation& result = evaluation.result;
  const std::optional<NgramComparison>& ngram = evaluation.ngram;
  const std::optional<HeldOutEvaluation>& held_out = evaluation.held_out;
  const Terminal terminal(stdout);
  if (json) {
    terminal.print(to_json(checkpoint, evaluation).dump() + '\n');
    return;
  }
  Table table({Table::Align::left, Table::Align::right});
  const auto add = [&](const char* what, std::string model, double other) {
    std::vector<Table::Cell> cells = {{.text = what}, {.text = std::move(model)}};
    if (ngram) cells.push_back({.text = std::isfinite(other) ? readable(other, 4) : std::string()});
    table.add(std::move(cells));
  };
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (ngram) table.add({{}, {.text = "model"}, {.text = fmt::format("{}-gram", ngram->order)}});
  add("bits a byte", readable(result.bits_per_byte, 4), ngram ? ngram->measured.bits_per_byte : kNone);
  add("perplexity of a token", readable(result.perplexity, 4), ngram ? ngram->measured.perplexity : kNone);
  if (std::isfinite(result.feature_mse))
    add("features read back, mean squared error", fmt::format("{:.5f}", result.feature_mse), kNone);
  const std::string heading = terminal.flowed(fmt::format(
      "{} attention, {} validation texts, {} positions, {} bytes; {} parameters, {} {}", to_string(result.attention),
      with_separators(data.val->size()), with_separators(result.num_positions), with_separators(data.val->num_bytes()),
      with_separators(checkpoint.model.parameter_count()), with_separators(checkpoint.model.vocabulary().size()),
      to_string(checkpoint.model.tokenizer()->kind())));
  terminal.print(fmt::format(
      "{}\n\n{}\n{}{}\n", heading, table.text(terminal, 2, 2) + (held_out ? "\n" + to_text(*held_out, terminal) : ""),
      ngram ? terminal.flowed(to_text(*ngram, result)) + '\n' : std::string(),
      terminal.flowed("Nobody knows the distribution of these texts, so there is no entropy floor to compare "
                      "with. Bits a byte can be compared between tokenizers, perplexities cannot.")));
}

}  // namespace semfuse
