#include "text_evaluation.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include "io/json_writer.h"
#include "semfuse/assembly.h"
#include "semfuse/error.h"
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

void evaluate_on_texts(const Checkpoint& checkpoint, Experiment experiment, const TextEvaluationOptions& options) {
  if (!options.data.empty()) {
    experiment.data.train.clear();
    experiment.data.val.clear();
    for (const std::string& file : options.data)
      experiment.data.val.push_back(std::filesystem::absolute(file).string());
  }
  const ExperimentData data = validation_data(experiment, checkpoint.model, options.threads, show_data_progress(true));
  if (options.data.empty() && data.fingerprint != experiment.data.fingerprint && !experiment.data.fingerprint.empty())
    notify(
        "the files changed since the model was trained on them, so some of these texts may be ones that it has seen");
  for (const std::string& note : data.notes) notify(note);
  const Evaluation result =
      evaluate(checkpoint.model, *data.val,
               {.held_out = {}, .count_end = experiment.training.count_end, .threads = options.threads});
  const Terminal terminal(stdout);
  if (options.json) {
    const Json object = {{"attention", to_string(result.attention)},
                         {"texts", data.val->size()},
                         {"positions", result.num_positions},
                         {"bytes", data.val->num_bytes()},
                         {"ppl", result.perplexity},
                         {"bits_per_byte", result.bits_per_byte},
                         {"feature_mse", result.feature_mse},
                         {"floor_ppl", nullptr},
                         {"tokenizer", to_string(checkpoint.model.tokenizer()->kind())},
                         {"vocabulary", checkpoint.model.vocabulary().size()},
                         {"parameters", checkpoint.model.parameter_count()}};
    terminal.print(object.dump() + '\n');
    return;
  }
  Table table({Table::Align::left, Table::Align::right});
  table.add({{.text = "bits a byte"}, {.text = readable(result.bits_per_byte, 4)}});
  table.add({{.text = "perplexity of a token"}, {.text = readable(result.perplexity, 4)}});
  if (std::isfinite(result.feature_mse))
    table.add(
        {{.text = "features read back, mean squared error"}, {.text = fmt::format("{:.5f}", result.feature_mse)}});
  terminal.print(fmt::format(
      "{} attention, {} validation texts, {} positions, {} bytes; {} parameters, {} {}\n\n{}\n{}\n",
      to_string(result.attention), with_separators(data.val->size()), with_separators(result.num_positions),
      with_separators(data.val->num_bytes()), with_separators(checkpoint.model.parameter_count()),
      with_separators(checkpoint.model.vocabulary().size()), to_string(checkpoint.model.tokenizer()->kind()),
      table.text(terminal, 2, 2),
      terminal.flowed("Nobody knows the distribution of these texts, so there is no entropy floor to compare "
                      "with. Bits a byte can be compared between tokenizers, perplexities cannot.")));
}

}  // namespace semfuse
