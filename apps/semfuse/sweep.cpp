#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include "command.h"
#include "features/knob_index.h"
#include "generation/inexact_settings.h"
#include "interrupt.h"
#include "io/file.h"
#include "io/lock_file.h"
#include "processes.h"
#include "report/knob_report.h"
#include "run/shared_run.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "settings.h"
#include "study/spread_jobs.h"
#include "study/sweep_levels.h"
#include "study_progress.h"
#include "table.h"
#include "terminal.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

struct SweepFlags {
  std::string run;
  std::vector<std::string> knobs;
  bool all = false;
  std::optional<std::string> levels;
  std::optional<std::string> n;
  std::optional<std::string> seed;
  std::optional<std::string> guidance;
  std::optional<std::string> temperature;
  std::optional<std::string> top_k;
  std::optional<std::string> top_p;
  std::optional<std::string> threads;
  std::optional<std::string> out;
  bool uncalibrated = false;
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
    if (sweep.spearman) {
      text += sweep.gaps.empty() ? fmt::format(", Spearman {:.3f}", *sweep.spearman) : ", no Spearman";
      text += fmt::format(", falls {}", sweep.violations);
    }
    if (sweep.mean_side_effect > 0.0) {
      text += fmt::format(", side effect {:.3f} (largest {:.3f})", sweep.mean_side_effect, sweep.largest_side_effect);
    }
    if (sweep.texts) {
      text +=
          fmt::format("\na text: error {:.3f}, correlation {:.3f}", sweep.texts->distance, sweep.texts->correlation);
    }
    for (const std::string& gap : sweep.gaps) text += "\n" + gap;
    text += "\n" + table.text(terminal, 2, 2) + '\n';
  }
  return text;
}

constexpr const char* kLevelsFile = "levels.jsonl";
constexpr const char* kLock = "sweep.lock";  // Of the process that measures.

// The name of a folder that is missing, empty or holds a sweep. Throws Error for one with something else in it.
fs::path checked_folder(const std::string& name) {
  fs::path path = fs::path(name).has_filename() ? fs::path(name) : fs::path(name).parent_path();
  if (path.empty()) throw Error("--out is empty; name a folder");
  std::error_code ignored;
  if (!fs::exists(path, ignored) || fs::exists(path / kLevelsFile, ignored) || fs::exists(path / kLock, ignored))
    return path;
  if (fs::is_directory(path, ignored) && fs::is_empty(path, ignored)) return path;
  throw Error(fmt::format("{}: is already there and is no sweep to go on with; choose another --out", path.string()));
}

void say_what_will_not_hold(const std::vector<Knob>& swept, const SweepOptions& sweep) {
  GenerationRequest request;
  request.sampling = sweep.sampling;
  request.guidance = sweep.guidance;
  for (const std::string& line : inexact_knobs(swept, request)) notify(line);
}

// Several processes first leave the levels of single knobs in the folder, each of its own ones; what follows then finds
// them there. False if one was asked to stop.
bool spread_sweeps(const LanguageModel& model, const std::vector<std::string>& names, SweepOptions sweep,
                   std::size_t threads, const fs::path& folder, SweepLevels* all, const InterruptGuard& interrupt,
                   Exchange& exchange) {
  sweep.combinations = false;
  const std::string identity = sweep_identity(model, sweep);
  const auto path_of = [&](std::size_t job) { return folder / fmt::format("levels-{}.jsonl", job); };
  const auto run = [&](std::size_t job) -> std::optional<std::string> {
    SweepLevels own(path_of(job), identity);
    SweepHooks hooks;
    hooks.go_on = [&](const SweepProgress&) { return interrupt.signal() == 0; };
    hooks.known = [&](const std::string& level) {
      const auto before = all != nullptr ? all->find(level) : std::nullopt;
      return before ? before : own.find(level);
    };
    hooks.measured = [&](const std::string& level, const std::vector<Realised>& realised) {
      own.keep(level, realised);
    };
    return sweep_knobs(model, {names[job]}, sweep, threads, hooks) ? std::optional<std::string>("done") : std::nullopt;
  };
  const auto keep = [&](std::size_t job, const std::string&) {
    std::error_code ignored;
    if (!fs::exists(path_of(job), ignored)) return;  // All were known, or the folder is on another machine.
    for (const auto& [level, realised] : parse_sweep_levels(read_text(path_of(job)), identity, path_of(job))) {
      if (!all->find(level)) all->keep(level, realised);
    }
    fs::remove(path_of(job), ignored);
  };
  return spread_jobs(exchange, names.size(), run, keep);
}

int run_sweep(const SweepFlags& options, Exchange& exchange) {
  const bool leads = exchange.rank() == 0;
  SweepOptions sweep;
  sweep.levels = parse_whole_number("--levels", options.levels, 2, 1001).value_or(sweep.levels);
  sweep.n = parse_whole_number("--n", options.n, 1, 10'000'000).value_or(sweep.n);
  sweep.seed =
      parse_whole_number("--seed", options.seed, 0, std::numeric_limits<std::int64_t>::max()).value_or(sweep.seed);
  sweep.guidance = parse_number("--guidance", options.guidance).value_or(sweep.guidance);
  sweep.sampling.temperature = parse_number("--temperature", options.temperature).value_or(sweep.sampling.temperature);
  sweep.sampling.top_k =
      parse_whole_number("--top-k", options.top_k, 0, std::numeric_limits<std::int64_t>::max()).value_or(0);
  sweep.sampling.top_p = parse_number("--top-p", options.top_p).value_or(sweep.sampling.top_p);
  sweep.combinations = options.all;
  sweep.calibrated = !options.uncalibrated;
  if (options.all && !options.knobs.empty()) throw Error("--all sweeps every knob; leave --knob out");
  const std::size_t threads = parse_threads(options.threads);
  const Checkpoint checkpoint = load_checkpoint(options.run);
  const std::vector<Knob>& knobs = checkpoint.model.options().knobs;
  const std::vector<std::string> swept_names = swept_knobs(knobs, options.knobs, options.run);
  std::vector<Knob> swept;
  for (const Knob& knob : knobs) {
    if (std::ranges::find(swept_names, knob.name) != swept_names.end()) swept.push_back(knob);
  }
  const InterruptGuard interrupt;  // Before there is a folder: who sees it may send the signal.
  fs::path folder;
  std::optional<LockFile> lock;
  std::optional<SweepLevels> levels;  // What an earlier call measured, and what this one does.
  if (exchange.size() > 1 && !options.out)
    throw Error("a sweep in several processes needs --out, where they leave what they measure");
  first_then_others(exchange, [&] {
    if (!options.out) return 0;
    folder = checked_folder(*options.out);
    if (!leads) return 0;
    std::error_code code;
    fs::create_directories(folder, code);
    if (code) throw Error(fmt::format("{}: cannot create the folder: {}", folder.string(), code.message()));
    lock.emplace(folder / kLock, "sweeping into it");
    levels.emplace(folder / kLevelsFile, sweep_identity(checkpoint.model, sweep));
    return 0;
  });
  if (!options.quiet && leads) say_what_will_not_hold(swept, sweep);
  const bool spread = exchange.size() == 1 || spread_sweeps(checkpoint.model, swept_names, sweep, threads, folder,
                                                            levels ? &*levels : nullptr, interrupt, exchange);
  if (!leads) return 0;

  StudyProgress progress(options.quiet);
  if (levels && levels->size() > 0)
    progress.line(fmt::format("{} measured before; going on", counted(levels->size(), "level")));
  std::size_t told = 0;
  SweepHooks hooks;
  hooks.go_on = [&](const SweepProgress& now) {
    const std::string text = fmt::format("{} of {} levels done", now.levels_done, now.levels);
    progress.show(
        text, static_cast<double>(now.sentences_done) / static_cast<double>(std::max<std::size_t>(now.sentences, 1)));
    if (!progress.is_live() && now.levels_done > told) progress.line(text), told = now.levels_done;
    return interrupt.signal() == 0;
  };
  if (levels) {
    hooks.known = [&](const std::string& level) { return levels->find(level); };
    hooks.measured = [&](const std::string& level, const std::vector<Realised>& realised) {
      levels->keep(level, realised);
    };
  }
  std::optional<SweepResult> result;
  if (spread) result = sweep_knobs(checkpoint.model, swept_names, sweep, threads, hooks);
  progress.clear();
  if (!result) {
    notify(options.out ? "stopped; the same command goes on from the finished levels"
                       : "stopped; with --out DIR a sweep can go on");
    return interrupt.exit_code();
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
  out.print(out.flowed_lines(summary(out, knobs, *result)));
  if (options.out)
    out.print(fmt::format("{} has the plots and results.json\n", printable((folder / "report.html").string())));
  return 0;
}

}  // namespace

Command sweep_command(CommandLine& program) {
  CommandLine* app =
      program.add_subcommand("sweep", "Measure what a model does with its knobs: requested against realised");
  const auto options = std::make_shared<SweepFlags>();
  app->add_option("RUN", options->run, "A run folder or a .safetensors file")->required();
  app->heading("What to measure");
  app->add_option("--knob", options->knobs, "Sweep this knob only; may be repeated (default: every knob by itself)")
      ->type_name("NAME");
  app->add_flag("--all", options->all, "Every knob by itself, every pair, and all together");
  app->add_option("--levels", options->levels, "Levels from end to end of a knob's range; a distribution has 12 (11)")
      ->type_name("N");
  app->add_option("--n", options->n, "Sentences a level (1000)")->type_name("N");
  app->add_option("--seed", options->seed, "Same seed, same sentences (1)")->type_name("N");
  app->heading("Sampling");
  app->add_option("--guidance", options->guidance,
                  "How far past the setting, 0 to 20; 1: as calibrated, 0: as if nothing were set (1)")
      ->type_name("W");
  app->add_flag("--uncalibrated", options->uncalibrated,
                "Ask for the settings as they stand, whatever `semfuse calibrate` has found");
  app->add_option("--temperature", options->temperature, "Divides the logits; shares of knobs stay; 0 is greedy (1)")
      ->type_name("T");
  app->add_option("--top-k", options->top_k, "Keep the K most probable tokens; 0: all (0)")->type_name("K");
  app->add_option("--top-p", options->top_p, "Keep the nucleus of this mass (1)")->type_name("P");
  app->heading("");
  app->add_option("--out", options->out,
                  "Folder for results.json, table.md, report.html and plots; levels measured there are kept")
      ->type_name("DIR");
  app->add_flag("--json", options->json, "Print one JSON object: knobs.NAME.levels, .mae, .spearman, ...");
  app->add_flag("--quiet", options->quiet, "Print nothing");
  app->add_option("--threads", options->threads, "The result is the same for any number (one for each processor)")
      ->type_name("N");
  app->footer(
      "Ctrl-C stops; with --out the same command goes on from the finished levels.\n\n"
      "Examples:\n"
      "  semfuse sweep run\n"
      "  semfuse sweep run --knob polarity --levels 11 --n 1000 --out polarity\n"
      "  semfuse sweep run --all --out knobs\n");
  return {.app = app, .purpose = "this sweep", .run = [options] {
            return run_in_processes(
                [&](const std::shared_ptr<Exchange>& exchange) { return run_sweep(*options, *exchange); });
          }};
}

}  // namespace semfuse
