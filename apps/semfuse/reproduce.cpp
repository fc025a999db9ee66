#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "command.h"
#include "interrupt.h"
#include "io/file.h"
#include "report/reproduction.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "semfuse/evaluation.h"
#include "semfuse/trainer.h"
#include "settings.h"
#include "terminal.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kFirstSeed = 111;  // The paper's.

struct Options {
  std::string out;
  std::string seeds = "3";
  bool quick = false;
  std::string held_out = "paper";
  std::vector<std::string> settings;
  std::optional<std::string> threads;
  std::optional<std::string> markdown;
  bool json = false;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// One line kept up to date on a terminal; elsewhere a line for each run.
class OverallProgress {
 public:
  OverallProgress(std::size_t runs, std::size_t done) : runs_(runs), done_(done), already_(done) {}

  void show(const std::string& run, double share_of_run) {
    if (!terminal_.is_terminal() || Clock::now() - last_ < std::chrono::milliseconds(100)) return;
    last_ = Clock::now();
    const double worked = static_cast<double>(done_ - already_) + share_of_run;
    const double left = static_cast<double>(runs_ - done_) - share_of_run;
    const std::string eta = worked > 0.02 ? duration(std::ceil(seconds_since(begin_) / worked * left)) : "...";
    std::string text =
        fmt::format("{} of {} runs done  {} {:.0f} %  ETA {}", done_, runs_, run, share_of_run * 100.0, eta);
    text = text.substr(0, terminal_.width() - 1);
    terminal_.print(fmt::format("\r{:<{}}", text, shown_));
    shown_ = text.size();
  }
  void run_done(const std::string& line) {
    ++done_;
    clear();
    terminal_.print(line + '\n');
  }
  void clear() {
    if (shown_ > 0) terminal_.print('\r' + std::string(shown_, ' ') + '\r');
    shown_ = 0;
  }

 private:
  Terminal terminal_{stderr};
  std::size_t runs_;
  std::size_t done_;
  std::size_t already_;
  std::size_t shown_ = 0;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
};

struct PlannedRun {
  std::string model;  // "baseline" or "fusion"
  Experiment experiment;
  fs::path folder;

  fs::path metrics_path() const { return folder / "metrics.json"; }
  std::string name() const { return fmt::format("{}, seed {}", model, experiment.seed); }
};

// What options of this command decide: folders and the report's words depend on them.
void require_same_words_and_seed(const Experiment& before, const Experiment& after) {
  const CorpusOptions &was = before.corpus, &is = after.corpus;
  if (before.seed != after.seed) throw Error("--set seed: seeds begin at 111 here; say how many with --seeds");
  if (was.held_out != is.held_out || was.random_held_out != is.random_held_out ||
      was.random_held_out_classes != is.random_held_out_classes) {
    throw Error("--set: held-out words are chosen by --held-out here");
  }
}

std::vector<PlannedRun> plan(const Options& options) {
  std::vector<PlannedRun> runs;
  const std::uint64_t seeds = options.quick ? 1 : parse_whole_number("--seeds", options.seeds, 1, 1000).value();
  for (std::uint64_t i = 0; i < seeds; ++i) {
    for (const char* model : {"baseline", "fusion"}) {
      Experiment experiment = preset_experiment(fmt::format("paper-{}", model));
      experiment.seed = kFirstSeed + i;
      experiment.corpus.random_held_out = options.held_out == "random";
      const Experiment unchanged = experiment;
      apply_settings(experiment, options.settings);
      require_same_words_and_seed(unchanged, experiment);
      validate(experiment);
      runs.push_back(
          {model, experiment, fs::path(options.out) / "runs" / fmt::format("{}-{}", model, experiment.seed)});
    }
  }
  return runs;
}

std::string config_of(const Experiment& experiment) {
  return to_toml(experiment);
}

// The metrics of a run that an earlier call finished. Throws Error if it was another experiment.
std::optional<RunMetrics> finished(const PlannedRun& run) {
  std::error_code ignored;
  if (!fs::exists(run.metrics_path(), ignored)) return std::nullopt;
  const std::string config = read_text(run.folder / "config.toml");
  if (config != config_of(run.experiment)) {
    throw Error(fmt::format("{}: was trained with other settings; choose another --out", run.folder.string()));
  }
  return parse_run_metrics(read_text(run.metrics_path()), run.metrics_path().string());
}

void create_folder(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) throw Error(fmt::format("{}: cannot create the folder: {}", path.string(), code.message()));
}

// Trains and measures; nothing if a signal came in between. The metrics are written last: a run without them is begun
// anew.
std::optional<RunMetrics> train_and_measure(const PlannedRun& run, std::size_t threads, const InterruptGuard& interrupt,
                                            OverallProgress& progress) {
  const auto begin = Clock::now();
  const Experiment& experiment = run.experiment;
  const SyntheticCorpusOptions corpus_options = synthetic_corpus_options(experiment);
  const Corpus corpus = make_synthetic_corpus(corpus_options);
  LanguageModel model(experiment.model, Vocabulary::from_words(synthetic_corpus_words()),
                      FeatureBank(Lexicon::synthetic(), experiment.features), experiment.seed);
  Trainer trainer(model, corpus.train, experiment.training,
                  {.seed = experiment.seed, .threads = threads, .max_length = experiment.corpus.max_length});
  const EvaluationOptions evaluation_options = {.held_out = corpus_options.held_out,
                                                .count_end = experiment.training.count_end,
                                                .max_length = experiment.corpus.max_length,
                                                .threads = threads};
  std::vector<double> ppl_by_epoch;
  double training_seconds = 0.0;
  while (!trainer.done()) {
    if (interrupt.signal() != 0) return std::nullopt;
    const auto step_begin = Clock::now();
    const StepReport report = trainer.step();
    training_seconds += seconds_since(step_begin);
    progress.show(run.name(), static_cast<double>(report.step) / static_cast<double>(trainer.total_steps()));
    if (report.ends_epoch) ppl_by_epoch.push_back(evaluate(model, corpus.val, evaluation_options).perplexity);
  }
  RunMetrics metrics = measure_run(model, experiment, threads);
  metrics.ppl_by_epoch = ppl_by_epoch;
  metrics.step_ms = training_seconds / static_cast<double>(trainer.total_steps()) * 1e3;
  metrics.seconds = seconds_since(begin);

  create_folder(run.folder);
  save_checkpoint(run.folder / "model.safetensors", model, experiment);
  write_atomically(run.folder / "config.toml", config_of(experiment));
  write_atomically(run.metrics_path(), to_json(metrics));
  return metrics;
}

std::string cell(const Metric& metric) {
  if (metric.values.empty() || !std::isfinite(metric.values.front())) return "-";
  const Estimate e = estimate(metric.values);
  const int digits = metric.name == "feature_mse" ? 4 : 3;
  if (!std::isfinite(e.low)) return fmt::format("{:.{}f}", e.mean, digits);
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", e.mean, digits, e.low, digits, e.high, digits);
}

std::string published_text(double value) {
  return std::isfinite(value) ? fmt::format("{:.4g}", value) : "-";
}

std::string summary(const Terminal& terminal, const Reproduction& reproduction) {
  Table table({Table::Align::left, Table::Align::right});
  table.add({{"table 1"}, {"baseline, published"}, {"ours"}, {"fusion, published"}, {"ours"}});
  const std::vector<Metric> baseline = table1(reproduction, false);
  const std::vector<Metric> fusion = table1(reproduction, true);
  for (std::size_t i = 0; i < baseline.size(); ++i) {
    table.add({{.text = fusion[i].title},
               {.text = published_text(baseline[i].published)},
               {.text = cell(baseline[i])},
               {.text = published_text(fusion[i].published)},
               {.text = cell(fusion[i])}});
  }
  Table claim_table({Table::Align::left, Table::Align::right, Table::Align::left});
  claim_table.add({{"claim"}, {"fusion - baseline"}, {"over seeds"}});
  for (const Claim& claim : claims(reproduction)) {
    const Estimate& d = claim.difference;
    claim_table.add({{.text = claim.statement},
                     {.text = std::isfinite(d.low)    ? fmt::format("{:+.3f} [{:+.3f}, {:+.3f}]", d.mean, d.low, d.high)
                              : std::isfinite(d.mean) ? fmt::format("{:+.3f}", d.mean)
                                                      : "-"},
                     {.text = claim.verdict}});
  }
  return table.text(terminal, 0, 2) + '\n' + claim_table.text(terminal, 0, 2) +
         fmt::format(
             "\nThe encoder is bidirectional and sees its target: a model that reads only the past cannot be below "
             "perplexity {:.3f}.\n",
             reproduction.entropy_floor_ppl);
}

int reproduce(const Options& options) {
  if (options.out.empty()) throw Error("--out is empty; name a folder");
  const std::size_t threads = parse_threads(options.threads);
  const std::vector<PlannedRun> runs = plan(options);
  const InterruptGuard interrupt;

  Reproduction reproduction{.baseline = {}, .fusion = {}, .paper_held_out = options.held_out == "paper"};
  std::vector<std::optional<RunMetrics>> metrics;
  std::size_t already = 0;
  for (const PlannedRun& run : runs) {
    metrics.push_back(finished(run));
    if (metrics.back()) ++already;
  }
  create_folder(options.out);  // Before minutes of work, not after.
  if (already > 0)
    Terminal(stderr).print(fmt::format("{} of {} runs were done before; going on\n", already, runs.size()));
  OverallProgress progress(runs.size(), already);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!metrics[i]) {
      metrics[i] = train_and_measure(runs[i], threads, interrupt, progress);
      if (!metrics[i]) {
        progress.clear();
        Terminal(stderr).print("semfuse: stopped; the same command goes on from the finished runs\n");
        return 128 + interrupt.signal();
      }
      progress.run_done(fmt::format("{}: perplexity {:.3f}, seen-only {:.3f}, {}", runs[i].name(), metrics[i]->ppl,
                                    metrics[i]->seen_only_ppl, duration(metrics[i]->seconds)));
    }
    reproduction.seconds += metrics[i]->seconds;
    (runs[i].model == "fusion" ? reproduction.fusion : reproduction.baseline).push_back(*metrics[i]);
  }
  const Experiment& experiment = runs.front().experiment;
  reproduction.entropy_floor_ppl =
      synthetic_floor(synthetic_corpus_options(experiment), experiment.training.count_end).perplexity;

  const fs::path out = options.out;
  const std::string results = results_json(reproduction);
  write_atomically(out / "results.json", results);
  write_atomically(out / "report.html", report_page(reproduction));
  if (options.markdown) write_atomically(*options.markdown, results_markdown(reproduction));
  const Terminal terminal(stdout);
  terminal.print(options.json ? results
                              : summary(terminal, reproduction) +
                                    fmt::format("\n{}: the whole report\n{}: its numbers\n",
                                                (out / "report.html").string(), (out / "results.json").string()));
  return 0;
}

}  // namespace

Command reproduce_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "reproduce", "Train the paper's two models over seeds and lay our numbers beside the published ones");
  const auto options = std::make_shared<Options>();
  app->add_option("--out", options->out, "Folder for runs, results.json and report.html; finished runs there are kept")
      ->type_name("DIR")
      ->required();
  CLI::Option* seeds = app->add_option("--seeds", options->seeds, "Number of seeds, from 111 on (3)")->type_name("N");
  app->add_flag("--quick", options->quick, "One seed")->excludes(seeds);
  app->add_option("--held-out", options->held_out,
                  "paper: its six words; random: three of each polarity, by the seed (paper)")
      ->check(CLI::IsMember({"paper", "random"}));
  app->add_option("--set", options->settings, "Change a setting of every run; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app->add_option("--threads", options->threads, "Threads to compute with (one for each processor)")->type_name("N");
  app->add_option("--markdown", options->markdown, "Also write the tables as Markdown")->type_name("FILE");
  app->add_flag("--json", options->json, "Print results.json instead of tables");
  app->footer(
      "Ctrl-C stops; the same command goes on from the finished runs.\n\n"
      "Examples:\n"
      "  semfuse reproduce --quick --out paper\n"
      "  semfuse reproduce --seeds 10 --out paper-10\n"
      "  semfuse reproduce --held-out random --out paper-random\n");
  return {.app = app, .purpose = "reproducing the paper", .run = [options] { return reproduce(*options); }};
}

}  // namespace semfuse
