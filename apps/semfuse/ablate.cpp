#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "command.h"
#include "interrupt.h"
#include "io/file.h"
#include "report/ablation.h"
#include "run_folder.h"
#include "semfuse/error.h"
#include "settings.h"
#include "terminal.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string out;
  std::optional<std::string> seeds;
  std::optional<std::string> first_seed;
  std::vector<std::string> only;
  std::vector<std::string> settings;
  std::optional<std::string> threads;
  bool quiet = false;
};

std::vector<AblationRow> chosen_rows(const Options& options) {
  std::vector<AblationVariant> variants = ablation_variants(options.settings);
  std::vector<std::string> names;
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

int run_ablations(const Options& options) {
  Experiment numbers;  // Only to read and check the two options.
  numbers.corpus.val = 5;
  numbers.seed = 1;
  numbers.corpus.val = parse_whole_number("--seeds", options.seeds, 1, 1000).value_or(numbers.corpus.val);
  set_from_option(numbers, "--first-seed", "seed", options.first_seed);
  const std::size_t threads = parse_threads(options.threads);
  std::vector<AblationRow> rows = chosen_rows(options);
  const fs::path folder = RunFolder::checked(options.out);
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) throw Error(fmt::format("{}: cannot create the folder: {}", folder.string(), code.message()));

  const Terminal terminal(stdout);
  const InterruptGuard interrupt;
  // Seed by seed, so that what is there after an interruption compares all variants.
  for (std::uint64_t seed = numbers.seed; seed < numbers.seed + numbers.corpus.val; ++seed) {
    for (AblationRow& row : rows) {
      const std::optional<AblationRun> run =
          run_ablation(row.variant, seed, threads, [&] { return interrupt.signal() == 0; });
      if (!run) {
        write(folder, rows);
        Terminal(stderr).print(fmt::format("semfuse: stopped; {} holds the runs before\n", printable(folder.string())));
        return 128 + interrupt.signal();
      }
      row.runs.push_back(*run);
      write(folder, rows);
      if (!options.quiet) {
        terminal.print(fmt::format(
            "seed {}  {}  perplexity {:.4f}, {:.4f} of the floor, held-out CE {:.3f}, after {:.3f}\n", seed,
            row.variant.title, run->evaluation.perplexity, run->evaluation.perplexity / run->floor.perplexity,
            run->evaluation.held_out_cross_entropy, run->evaluation.after_held_out_cross_entropy));
      }
    }
  }
  if (!options.quiet) terminal.print('\n' + ablation_table(rows));
  return 0;
}

}  // namespace

Command ablate_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("ablate", "Train the semfuse model with each part removed in turn");
  const auto options = std::make_shared<Options>();
  app->add_option("--out", options->out, "Folder for table.md, plot.svg and results.json, made anew")
      ->type_name("DIR")
      ->required();
  app->add_option("--seeds", options->seeds, "Runs of each variant, on consecutive seeds (default: 5)")->type_name("N");
  app->add_option("--first-seed", options->first_seed, "The first of them (default: 1)")->type_name("N");
  app->add_option("--only", options->only, "Train this variant only; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app->add_option("--set", options->settings, "Change one setting of every variant; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app->add_option("--threads", options->threads, "Threads to compute with; the result is the same for any number")
      ->type_name("N");
  app->add_flag("--quiet", options->quiet, "Print nothing");
  app->footer(
      "Examples:\n"
      "  semfuse ablate --out ablation\n"
      "  semfuse ablate --seeds 2 --only semfuse --only without_gate --set training.epochs=2 --out short\n");
  return {.app = app, .purpose = "these models", .run = [options] { return run_ablations(*options); }};
}

}  // namespace semfuse
