#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include "command.h"
#include "core/nearest_word.h"
#include "features/knob_index.h"
#include "interrupt.h"
#include "io/file.h"
#include "report/knob_report.h"
#include "run_folder.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "settings.h"
#include "terminal.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string run;
  std::vector<std::string> knobs;
  bool all = false;
  std::optional<std::string> levels;
  std::optional<std::string> n;
  std::optional<std::string> seed;
  std::optional<std::string> guidance;
  std::optional<std::string> threads;
  std::optional<std::string> out;
  bool json = false;
  bool quiet = false;
};

std::string summary(const Terminal& terminal, const std::vector<Knob>& knobs, const SweepResult& result) {
  std::string text;
  for (const KnobSweep& sweep : result.sweeps) {
    Table table({Table::Align::left, Table::Align::right});
    table.add({{.text = "requested"}, {.text = "realised"}, {.text = "±"}});
    for (const SweepLevel& level : sweep.levels) {
      for (const KnobSetting& setting : level.requested) {
        const Realised& realised = level.realised[knob_index(knobs, setting.knob)];
        std::vector<std::string> values;
        for (const double value : realised.values) values.push_back(fmt::format("{:.3f}", value));
        table.add({{.text = to_string(knobs, setting)},
                   {.text = fmt::format("{}", fmt::join(values, " / "))},
                   {.text = fmt::format("{:.3f}",
                                        *std::max_element(realised.half_widths.begin(), realised.half_widths.end())),
                    .dim = true}});
      }
    }
    text += terminal.bold(fmt::format("{}", fmt::join(sweep.knobs, " + "))) +
            fmt::format("  mean absolute error {:.3f}", sweep.mean_absolute_error);
    if (sweep.spearman) text += fmt::format(", Spearman {:.3f}, falls {}", *sweep.spearman, sweep.violations);
    if (sweep.mean_side_effect > 0.0) {
      text += fmt::format(", side effect {:.3f} (largest {:.3f})", sweep.mean_side_effect, sweep.largest_side_effect);
    }
    text += "\n" + table.text(terminal, 2, 2) + '\n';
  }
  return text;
}

int run_sweep(const Options& options) {
  SweepOptions sweep;
  sweep.levels = parse_whole_number("--levels", options.levels, 2, 1001).value_or(sweep.levels);
  sweep.n = parse_whole_number("--n", options.n, 1, 10'000'000).value_or(sweep.n);
  sweep.seed =
      parse_whole_number("--seed", options.seed, 0, std::numeric_limits<std::int64_t>::max()).value_or(sweep.seed);
  sweep.guidance = parse_number("--guidance", options.guidance).value_or(sweep.guidance);
  sweep.combinations = options.all;
  if (options.all && !options.knobs.empty()) throw Error("--all sweeps every knob; leave --knob out");
  const std::size_t threads = parse_threads(options.threads);
  const Checkpoint checkpoint = load_checkpoint(options.run);
  const std::vector<Knob>& knobs = checkpoint.model.options().knobs;
  std::vector<std::string> names;
  for (const Knob& knob : knobs) names.push_back(knob.name);
  if (names.empty())
    throw Error(fmt::format("{}: the model has no knobs; train one that has (model.knobs)", options.run));
  for (const std::string& name : options.knobs) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(fmt::format("--knob: there is no knob \"{}\"{}; knobs of this model are {}", printable(name),
                              did_you_mean(name, names), fmt::join(names, ", ")));
    }
  }
  fs::path folder;
  if (options.out) {
    folder = RunFolder::checked(*options.out);
    std::error_code code;
    fs::create_directories(folder, code);
    if (code) throw Error(fmt::format("{}: cannot create the folder: {}", folder.string(), code.message()));
  }

  const Terminal err(stderr);
  const InterruptGuard interrupt;
  const auto begin = std::chrono::steady_clock::now();
  const std::optional<SweepResult> result =
      sweep_knobs(checkpoint.model, options.knobs, sweep, threads, [&](std::size_t done, std::size_t all) {
        if (err.is_terminal() && !options.quiet) {
          const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
          const double left = seconds / static_cast<double>(done) * static_cast<double>(all - done);
          err.print(done == all ? std::string("\r\x1b[K")
                                : fmt::format("\r\x1b[Klevel {} of {}  ETA {}", done, all, duration(left)));
        }
        return interrupt.signal() == 0;
      });
  if (!result) {
    err.print("\nsemfuse: stopped; nothing was written\n");
    if (options.out) fs::remove(folder);
    return 128 + interrupt.signal();
  }
  if (options.out) {
    write_atomically(folder / "results.json", sweep_json(knobs, sweep, *result));
    write_atomically(folder / "table.md", sweep_table(knobs, *result));
    write_atomically(folder / "report.html", sweep_page(knobs, sweep, *result));
    for (const KnobSweep& single : result->sweeps) {
      if (single.knobs.size() > 1) continue;
      const std::size_t index = knob_index(knobs, single.knobs.front());
      write_atomically(folder / (single.knobs.front() + ".svg"), sweep_plot(knobs[index], index, single));
    }
  }
  const Terminal out(stdout);
  if (options.json) out.print(sweep_json(knobs, sweep, *result));
  if (options.json || options.quiet) return 0;
  out.print(summary(out, knobs, *result));
  if (options.out)
    out.print(fmt::format("{} has the plots and results.json\n", printable((folder / "report.html").string())));
  return 0;
}

}  // namespace

Command sweep_command(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("sweep", "Measure what a model does with its knobs: requested against realised");
  const auto options = std::make_shared<Options>();
  app->add_option("RUN", options->run, "A run folder or a .safetensors file")->required();
  app->add_option("--knob", options->knobs, "Sweep this knob only; may be repeated (default: every knob by itself)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app->add_flag("--all", options->all, "Every knob by itself, every pair, and all together");
  app->add_option("--levels", options->levels, "Levels from end to end of a knob's range; a distribution has 12 (11)")
      ->type_name("N");
  app->add_option("--n", options->n, "Sentences a level (1000)")->type_name("N");
  app->add_option("--seed", options->seed, "Same seed, same sentences (1)")->type_name("N");
  app->add_option("--guidance", options->guidance, "How far past the setting; 1: as calibrated (1)")->type_name("W");
  app->add_option("--out", options->out, "Folder for results.json, table.md, report.html and plots, made anew")
      ->type_name("DIR");
  app->add_option("--threads", options->threads, "The result is the same for any number (one for each processor)")
      ->type_name("N");
  app->add_flag("--json", options->json, "Print one JSON object: knobs.NAME.levels, .mae, .spearman, ...");
  app->add_flag("--quiet", options->quiet, "Print nothing");
  app->footer(
      "Examples:\n"
      "  semfuse sweep run\n"
      "  semfuse sweep run --knob polarity --levels 11 --n 1000 --out polarity\n"
      "  semfuse sweep run --all --out knobs\n");
  return {.app = app, .purpose = "this sweep", .run = [options] { return run_sweep(*options); }};
}

}  // namespace semfuse
