#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "command.h"
#include "interrupt.h"
#include "io/file.h"
#include "io/output_folder.h"
#include "processes.h"
#include "report/ablation_report.h"
#include "run/shared_run.h"
#include "semfuse/error.h"
#include "settings.h"
#include "study/spread_jobs.h"
#include "study/study_folder.h"
#include "study_progress.h"
#include "table.h"
#include "terminal.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

struct AblateFlags {
  std::string out;
  std::optional<std::string> seeds;
  std::optional<std::string> first_seed;
  std::vector<std::string> only;
  std::vector<std::string> settings;
  std::optional<std::string> threads;
  bool quiet = false;
};

std::vector<AblationRow> chosen_rows(const AblateFlags& options) {
  std::vector<AblationVariant> variants = ablation_variants(options.settings);
  std::vector<std::string> names;
  names.reserve(variants.size());
  for (const AblationVariant& variant : variants) names.push_back(variant.name);
  for (const std::string& name : options.only) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Error(
          fmt::format("--only: there is no variant \"{}\"; variants are {}", printable(name), fmt::join(names, ", ")));
  }
  std::vector<AblationRow> rows;
  for (AblationVariant& variant : variants) {
    const bool wanted =
        options.only.empty() || std::find(options.only.begin(), options.only.end(), variant.name) != options.only.end();
    if (wanted) rows.push_back({.variant = std::move(variant), .runs = {}});
  }
  return rows;
}

void write(const fs::path& folder, const std::vector<AblationRow>& rows) {
  write_atomically(folder / "results.json", ablation_json(rows));
  write_atomically(folder / "table.md", ablation_table(rows));
  write_atomically(folder / "plot.svg", ablation_svg(rows));
}

// As table.md has it; on a terminal, in columns that fit.
void print(const Terminal& terminal, const std::vector<AblationRow>& rows) {
  if (!terminal.is_terminal()) return terminal.print(ablation_table(rows));
  Table table({Table::Align::left, Table::Align::right});
  for (const std::vector<std::string>& row : ablation_cells(rows)) {
    std::vector<Table::Cell> cells;
    cells.reserve(row.size());
    for (const std::string& text : row) cells.push_back({.text = text});
    table.add(std::move(cells));
  }
  terminal.print(table.text(terminal, 0, 2) + '\n' + terminal.flowed(ablation_note()) + '\n');
}

// The runs that an earlier call finished, by row and seed. Throws Error if one was trained with other settings.
std::size_t read_finished(const StudyFolder& folder, std::vector<AblationRow>& rows, std::uint64_t first_seed,
                          std::uint64_t seeds) {
  std::size_t count = 0;
  for (AblationRow& row : rows) {
    for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
      const std::string name = row.variant.run_name(seed);
      const std::optional<std::string> metrics = folder.finished(name, row.variant.on_seed(seed));
      if (!metrics) continue;
      row.runs.push_back(parse_ablation_run(*metrics, folder.metrics_path(name).string()));
      ++count;
    }
  }
  return count;
}

bool has_run(const AblationRow& row, std::uint64_t seed) {
  return std::ranges::any_of(row.runs, [&](const AblationRun& run) { return run.seed == seed; });
}

// A variant on a seed.
struct Job {
  AblationRow* row;
  std::uint64_t seed;

  std::string title() const { return fmt::format("{}, seed {}", row->variant.title, seed); }
};

int run_ablations(const AblateFlags& options, Exchange& exchange) {
  const bool leads = exchange.rank() == 0;
  Experiment numbers;  // Only to read and check the option.
  numbers.seed = 1;
  set_from_option(numbers, "--first-seed", "seed", options.first_seed);
  const std::uint64_t first_seed = numbers.seed;
  const std::uint64_t seeds = parse_whole_number("--seeds", options.seeds, 1, 1000).value_or(5);
  const std::size_t threads = parse_threads(options.threads);
  std::vector<AblationRow> rows = chosen_rows(options);
  std::optional<StudyFolder> folder;  // Of the process that writes.
  std::optional<InterruptGuard> interrupt;
  std::string missing;  // Of the jobs below, which are to be done.
  first_then_others(exchange, [&] {
    if (leads) {
      folder.emplace(options.out, "ablation");
      read_finished(*folder, rows, first_seed, seeds);
    }
    interrupt.emplace();  // Before there is anything that a signal could leave behind.
    if (leads) folder->open();
    return 0;
  });
  std::vector<Job> jobs;
  // Seed by seed, so that what is there after an interruption compares all variants.
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    for (AblationRow& row : rows) {
      jobs.push_back({&row, seed});
      missing += has_run(row, seed) ? 'n' : 'y';
    }
  }
  const std::size_t all = jobs.size();
  broadcast(exchange, missing);
  for (std::size_t i = all; i-- > 0;) {
    if (missing[i] == 'n') jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const std::size_t already = all - jobs.size();

  StudyProgress progress(options.quiet || !leads);
  progress.line(already > 0 ? fmt::format("{} of {} runs were done before; going on", already, all)
                            : fmt::format("{} to train: {} variants on {}", counted(all, "model"), rows.size(),
                                          counted(seeds, "seed")));
  std::size_t done = already;
  const auto run = [&](std::size_t job) -> std::optional<std::string> {
    const auto go_on = [&](double share) {
      progress.show(fmt::format("{} of {} runs done  {} {:.0f} %", done, all, jobs[job].title(), share * 100.0),
                    (static_cast<double>(done - already) + share * static_cast<double>(exchange.size())) /
                        static_cast<double>(all - already));
      return interrupt->signal() == 0;
    };
    const std::optional<AblationRun> result = run_ablation(jobs[job].row->variant, jobs[job].seed, threads, go_on);
    return result ? std::optional(to_json(*result)) : std::nullopt;
  };
  const auto keep = [&](std::size_t job, const std::string& result) {
    AblationRow& row = *jobs[job].row;
    const std::string name = row.variant.run_name(jobs[job].seed);
    folder->keep(name, row.variant.on_seed(jobs[job].seed), result);
    const AblationRun one = parse_ablation_run(result, folder->metrics_path(name).string());
    row.runs.push_back(one);
    ++done;
    write(folder->path(), rows);
    progress.line(
        fmt::format("{} of {}  {}: perplexity {}, {} of the floor (95 %: {} to {}), held-out CE {:.3f}, after {:.3f}",
                    done, all, jobs[job].title(), readable(one.evaluation.perplexity, 4), readable(one.over_floor(), 4),
                    readable(one.over_floor_low, 4), readable(one.over_floor_high, 4),
                    one.evaluation.held_out_cross_entropy, one.evaluation.after_held_out_cross_entropy));
  };
  const bool finished = spread_jobs(exchange, jobs.size(), run, keep);
  if (!leads) return 0;
  if (!finished) {
    progress.clear();
    notify("stopped; the same command goes on from the finished runs");
    return interrupt->exit_code();
  }
  for (AblationRow& row : rows) std::ranges::sort(row.runs, {}, &AblationRun::seed);
  write(folder->path(), rows);
  if (!options.quiet) print(Terminal(stdout), rows);
  return 0;
}

}  // namespace

Command ablate_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("ablate", "Train the semfuse model with each part removed in turn");
  const auto options = std::make_shared<AblateFlags>();
  app->add_option("--out", options->out,
                  "Folder for runs, table.md, plot.svg and results.json; finished runs there are kept")
      ->type_name("DIR")
      ->required();
  app->add_option("--seeds", options->seeds, "Runs of each variant, on consecutive seeds (default: 5)")->type_name("N");
  app->add_option("--first-seed", options->first_seed, "The first of them (default: 1)")->type_name("N");
  app->add_option("--only", options->only, "Train this variant only; may be repeated")->type_name("NAME");
  app->add_option("--set", options->settings, "Change one setting of every variant; may be repeated")
      ->type_name("KEY=VALUE");
  app->add_option("--threads", options->threads, "Threads to compute with; the result is the same for any number")
      ->type_name("N");
  app->add_flag("--quiet", options->quiet, "Print nothing");
  app->footer(
      "Ctrl-C stops; the same command goes on from the finished runs.\n\n"
      "Examples:\n"
      "  semfuse ablate --out ablation\n"
      "  semfuse ablate --seeds 2 --only semfuse --only without_gate --set training.epochs=2 --out short\n");
  return {.app = app, .purpose = "these models", .run = [options] {
            return run_in_processes(
                [&](const std::shared_ptr<Exchange>& exchange) { return run_ablations(*options, *exchange); });
          }};
}

}  // namespace semfuse
