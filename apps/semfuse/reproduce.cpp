#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "command.h"
#include "interrupt.h"
#include "io/file.h"
#include "io/output_file.h"
#include "processes.h"
#include "report/reproduction.h"
#include "run/shared_run.h"
#include "semfuse/error.h"
#include "semfuse/evaluation.h"
#include "semfuse/synthetic_corpus.h"
#include "settings.h"
#include "study/spread_jobs.h"
#include "study_progress.h"
#include "table.h"
#include "terminal.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFirstSeed = 111;  // The paper's.

struct ReproduceFlags {
  std::string out;
  std::string seeds = "3";
  bool quick = false;
  std::string held_out = "paper";
  std::vector<std::string> settings;
  std::optional<std::string> threads;
  std::optional<std::string> markdown;
  bool json = false;
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

std::vector<PaperRun> plan(const ReproduceFlags& options) {
  std::vector<PaperRun> runs;
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
      runs.push_back({model, experiment});
    }
  }
  return runs;
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

std::string floor_text(const Reproduction& reproduction) {
  std::string text = fmt::format(
      "The encoder is bidirectional and sees its target: for a model that reads only the past the floor is perplexity "
      "{:.3f}, in expectation",
      reproduction.entropy_floor_ppl);
  const FloorComparison baseline = compare_with_floor(reproduction, false);
  if (!std::isfinite(baseline.over_floor.mean)) return text + '.';
  const auto times = [](const Estimate& over) {
    std::string number = readable(over.mean, 4);
    if (std::isfinite(over.low))
      number += fmt::format(" (95 %: {} to {})", readable(over.low, 4), readable(over.high, 4));
    return number;
  };
  text += fmt::format(", and {:.3f} on the same sentences.", estimate(baseline.floors).mean);
  return text + fmt::format(" Perplexity is {} times the latter for the baseline, {} for fusion.",
                            times(baseline.over_floor), times(compare_with_floor(reproduction, true).over_floor));
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
  return table.text(terminal, 0, 2) + '\n' + claim_table.text(terminal, 0, 2) + '\n' +
         broken(floor_text(reproduction), terminal.width()) + '\n';
}

int reproduce(const ReproduceFlags& options, Exchange& exchange) {
  const bool leads = exchange.rank() == 0;
  StudyFolder folder(options.out, "reproduction");
  const std::size_t threads = parse_threads(options.threads);
  const std::vector<PaperRun> runs = plan(options);
  const InterruptGuard interrupt;

  Reproduction reproduction{.baseline = {}, .fusion = {}, .paper_held_out = options.held_out == "paper"};
  std::vector<std::optional<RunMetrics>> metrics(runs.size());
  std::string missing(runs.size(), 'y');
  first_then_others(exchange, [&] {
    for (std::size_t i = 0; leads && i < runs.size(); ++i) {
      metrics[i] = finished_run(folder, runs[i]);
      if (metrics[i]) missing[i] = 'n';
    }
    // Before minutes of work, not after.
    if (leads) folder.open();
    if (leads && options.markdown) require_own_file(*options.markdown, {kResultsHeading}, "of this command");
    return 0;
  });
  broadcast(exchange, missing);
  std::vector<std::size_t> jobs;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (missing[i] == 'y') jobs.push_back(i);
  }
  const std::size_t already = runs.size() - jobs.size();
  if (already > 0 && leads)
    Terminal(stderr).print(fmt::format("{} of {} runs were done before; going on\n", already, runs.size()));
  StudyProgress progress(!leads);
  std::size_t done = already;
  const auto run = [&](std::size_t job) -> std::optional<std::string> {
    const PaperRun& own = runs[jobs[job]];
    metrics[jobs[job]] = train_and_measure(folder, own, threads, [&](double share) {
      progress.show(fmt::format("{} of {} runs done  {} {:.0f} %", done, runs.size(), own.title(), share * 100.0),
                    (static_cast<double>(done - already) + share * static_cast<double>(exchange.size())) /
                        static_cast<double>(jobs.size()));
      return interrupt.signal() == 0;
    });
    return metrics[jobs[job]] ? std::optional<std::string>("done") : std::nullopt;
  };
  const auto keep = [&](std::size_t job, const std::string&) {
    std::optional<RunMetrics>& result = metrics[jobs[job]];
    if (!result) result = finished_run(folder, runs[jobs[job]]);  // Another process has left it in the folder.
    if (!result)
      throw Error(
          fmt::format("{}: another process trained {}, but the folder does not show it; it must be on "
                      "a file system that all processes share",
                      folder.path().string(), runs[jobs[job]].title()));
    ++done;
    progress.line(fmt::format("{}: perplexity {:.3f}, seen-only {:.3f}, {}", runs[jobs[job]].title(), result->ppl,
                              result->seen_only_ppl, duration(result->seconds)));
  };
  const bool finished = spread_jobs(exchange, jobs.size(), run, keep);
  if (!leads) return 0;
  if (!finished) {
    progress.clear();
    notify("stopped; the same command goes on from the finished runs");
    return interrupt.exit_code();
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    reproduction.seconds += metrics[i]->seconds;
    (runs[i].model == "fusion" ? reproduction.fusion : reproduction.baseline).push_back(*metrics[i]);
  }
  const Experiment& experiment = runs.front().experiment;
  reproduction.entropy_floor_ppl =
      synthetic_floor(synthetic_corpus_options(experiment), experiment.training.count_end).perplexity;

  const fs::path& out = folder.path();
  const std::string results = results_json(reproduction);
  write_atomically(out / "results.json", results);
  write_atomically(out / "report.html", report_page(reproduction));
  if (options.markdown) write_atomically(*options.markdown, results_markdown(reproduction));
  const Terminal terminal(stdout);
  terminal.print(options.json ? results
                              : terminal.flowed_lines(summary(terminal, reproduction)) +
                                    fmt::format("\n{}: the whole report\n{}: its numbers\n",
                                                printable((out / "report.html").string()),
                                                printable((out / "results.json").string())));
  return 0;
}

}  // namespace

Command reproduce_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand(
      "reproduce", "Train the paper's two models over seeds and lay our numbers beside the published ones");
  const auto options = std::make_shared<ReproduceFlags>();
  app->add_option("--out", options->out, "Folder for runs, results.json and report.html; finished runs there are kept")
      ->type_name("DIR")
      ->required();
  CommandOption* seeds = app->add_option("--seeds", options->seeds, "Number of seeds, from 111 on (3)")->type_name("N");
  app->add_flag("--quick", options->quick, "One seed")->excludes(seeds);
  app->add_option("--held-out", options->held_out,
                  "paper: its six words; random: three of each polarity, by the seed (paper)")
      ->choices({"paper", "random"});
  app->add_option("--set", options->settings, "Change a setting of every run; may be repeated")->type_name("KEY=VALUE");
  app->add_option("--threads", options->threads, "Threads to compute with (one for each processor)")->type_name("N");
  app->add_option("--markdown", options->markdown, "Also write the tables as Markdown")->type_name("FILE");
  app->add_flag("--json", options->json, "Print results.json instead of tables");
  app->footer(
      "Ctrl-C stops; the same command goes on from the finished runs.\n\n"
      "Examples:\n"
      "  semfuse reproduce --quick --out paper\n"
      "  semfuse reproduce --seeds 10 --out paper-10\n"
      "  semfuse reproduce --held-out random --out paper-random\n");
  return {.app = app, .purpose = "reproducing the paper", .run = [options] {
            return run_in_processes(
                [&](const std::shared_ptr<Exchange>& exchange) { return reproduce(*options, *exchange); });
          }};
}

}  // namespace semfuse
