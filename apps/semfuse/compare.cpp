#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "command.h"
#include "paper/published.h"
#include "semfuse/checkpoint.h"
#include "semfuse/evaluation.h"
#include "settings.h"
#include "study/run_metrics.h"
#include "table.h"
#include "terminal.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

struct CompareFlags {
  std::vector<std::string> runs;
  std::optional<std::string> threads;
  bool json = false;
};

struct Column {
  std::string path;  // As the command line names it.
  RunMetrics metrics;
  double floor_ppl = 0.0;         // In expectation.
  double sample_floor_ppl = 0.0;  // On the sentences that it was measured on.
};

Column measured(const std::string& path, std::size_t threads) {
  const Checkpoint checkpoint = load_checkpoint(path);
  const Experiment experiment = checkpoint.experiment();
  require_synthetic(experiment, path, "comparing runs");
  SyntheticCorpusOptions corpus = synthetic_corpus_options(experiment);
  corpus.train = 0;
  const bool count_end = experiment.training.count_end;
  return {.path = path,
          .metrics = measure_run(checkpoint.model, experiment, threads),
          .floor_ppl = synthetic_floor(corpus, count_end).perplexity,
          .sample_floor_ppl = synthetic_floor_on(make_synthetic_corpus(corpus).val, corpus, count_end).perplexity};
}

Json as_json(const std::vector<Column>& columns) {
  Json runs = Json::array();
  for (const Column& column : columns) {
    const RunMetrics& metrics = column.metrics;
    Json run = {{"run", column.path},
                {"floor_ppl", column.floor_ppl},
                {"sample_floor_ppl", column.sample_floor_ppl},
                {"ppl_over_floor", metrics.ppl / column.sample_floor_ppl},
                {"seed", metrics.seed},
                {"attention", metrics.attention},
                {"held_out", metrics.held_out},
                {"ppl", metrics.ppl},
                {"seen_only_ppl", metrics.seen_only_ppl},
                {"feature_mse", metrics.feature_mse},
                {"token_us", metrics.token_us}};
    add_model_metrics(run, metrics);
    runs.push_back(std::move(run));
  }
  return {{"runs", std::move(runs)}};
}

// The last parts of the paths if they tell the runs apart, else the paths.
std::vector<std::string> headings(const std::vector<Column>& columns) {
  std::vector<std::string> paths, names;
  for (const Column& column : columns) {
    const fs::path path = fs::path(column.path).lexically_normal();
    paths.push_back(printable(column.path));
    names.push_back(printable((path.has_filename() ? path : path.parent_path()).filename().string()));
  }
  return std::set(names.begin(), names.end()).size() == names.size() ? names : paths;
}

using ColumnValue = std::function<std::string(const Column&)>;

// One row for every metric that some run has.
class MetricTable {
 public:
  explicit MetricTable(const std::vector<Column>& columns) : columns_(columns) {
    std::vector<Table::Cell> cells = {{}};
    for (std::string& heading : headings(columns)) cells.push_back({.text = std::move(heading)});
    table_.add(std::move(cells));
  }

  // What has no value in a column is empty there.
  void add(const std::string& name, const ColumnValue& value) {
    std::vector<Table::Cell> cells = {{.text = name}};
    bool any = false;
    for (const Column& column : columns_) {
      const std::string text = value(column);
      any = any || !text.empty();
      cells.push_back({.text = text.empty() ? "-" : text});
    }
    if (any) table_.add(std::move(cells));
  }

  std::string text(const Terminal& terminal) const { return table_.text(terminal, 0, 2); }

 private:
  const std::vector<Column>& columns_;
  Table table_{{Table::Align::left, Table::Align::right}};
};

std::string number(double value, int digits) {
  return std::isfinite(value) ? readable(value, digits) : "";
}

ColumnValue of_run(double RunMetrics::*value, int digits) {
  return [=](const Column& column) { return number(column.metrics.*value, digits); };
}

ColumnValue of_controls(ControlCounts ControlMetrics::*setting, std::size_t ControlCounts::*count) {
  return [=](const Column& column) -> std::string {
    if (!column.metrics.controls) return "";
    const ControlCounts& counts = (*column.metrics.controls).*setting;
    return fmt::format("{} / {}", counts.*count, counts.trials);
  };
}

std::string as_text(const Terminal& terminal, const std::vector<Column>& columns) {
  MetricTable table(columns);
  table.add("attention", [](const Column& column) { return column.metrics.attention; });
  table.add("seed", [](const Column& column) { return std::to_string(column.metrics.seed); });
  table.add("parameters", [](const Column& column) { return with_separators(column.metrics.parameters); });
  table.add("perplexity", of_run(&RunMetrics::ppl, 4));
  table.add("floor of reading only the past", [](const Column& column) { return number(column.floor_ppl, 4); });
  table.add("perplexity / floor, same sentences",
            [](const Column& column) { return number(column.metrics.ppl / column.sample_floor_ppl, 4); });
  table.add("perplexity, seen words", of_run(&RunMetrics::seen_only_ppl, 4));
  table.add("feature MSE", of_run(&RunMetrics::feature_mse, 5));
  for (std::size_t i = 0; i < focus_words().size(); ++i) {
    table.add(fmt::format("cross-entropy of \"{}\"", focus_words()[i]),
              [i](const Column& column) { return number(column.metrics.focus[i].cross_entropy, 5); });
  }
  table.add("hard control: positive", of_controls(&ControlMetrics::hard_positive, &ControlCounts::positive));
  table.add("hard control: \"!\"", of_controls(&ControlMetrics::hard_positive, &ControlCounts::exclamation));
  table.add("hard control: negative", of_controls(&ControlMetrics::hard_negative, &ControlCounts::negative));
  table.add("hard control: \"?\"", of_controls(&ControlMetrics::hard_negative, &ControlCounts::question));
  table.add("held-out, positive", of_controls(&ControlMetrics::positive, &ControlCounts::held_out));
  table.add("held-out, negative", of_controls(&ControlMetrics::negative, &ControlCounts::held_out));
  table.add("held-out, positive, usual nucleus",
            of_controls(&ControlMetrics::positive_usual_nucleus, &ControlCounts::held_out));
  table.add("held-out, negative, usual nucleus",
            of_controls(&ControlMetrics::negative_usual_nucleus, &ControlCounts::held_out));
  table.add("generated token, µs", of_run(&RunMetrics::token_us, 1));
  std::string text = table.text(terminal);
  text += "\nEach run is measured on the validation sentences of its own seed.\n";
  for (const Column& column : columns) {
    if (column.metrics.attention != to_string(AttentionMask::bidirectional)) continue;
    text += "Bidirectional attention reads what it predicts: its perplexity does not compare with a causal one.\n";
    break;
  }
  return text;
}

int compare(const CompareFlags& options) {
  const std::size_t threads = parse_threads(options.threads);
  std::vector<Column> columns;
  for (const std::string& path : options.runs) columns.push_back(measured(path, threads));
  const Terminal terminal(stdout);
  terminal.print(options.json ? as_json(columns).dump() + '\n' : terminal.flowed_lines(as_text(terminal, columns)));
  return 0;
}

}  // namespace

Command compare_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("compare", "Measure several models and lay them side by side");
  const auto options = std::make_shared<CompareFlags>();
  app->add_option("RUN", options->runs, "Run folders or their model.safetensors")->required();
  app->add_option("--threads", options->threads, "Threads to compute with; the result is the same for any number")
      ->type_name("N");
  app->add_flag("--json", options->json, "Print one JSON object");
  app->footer(
      "Examples:\n"
      "  semfuse compare baseline fusion\n"
      "  semfuse compare paper/runs/* --json\n");
  return {.app = app, .purpose = "this comparison", .run = [options] { return compare(*options); }};
}

}  // namespace semfuse
