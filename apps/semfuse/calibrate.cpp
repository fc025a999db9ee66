#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include "calibration_view.h"
#include "command.h"
#include "core/nearest_word.h"
#include "features/knob_index.h"
#include "interrupt.h"
#include "io/file.h"
#include "io/json_writer.h"
#include "io/output_file.h"
#include "judge_option.h"
#include "run/run_files.h"
#include "run/run_judge.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "settings.h"
#include "study_progress.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

struct CalibrateFlags {
  std::string run;
  std::string knob;
  std::optional<std::string> judge;
  std::optional<std::string> patience;
  std::optional<std::string> n;
  std::optional<std::string> seed;
  std::optional<std::string> max_tokens;
  std::optional<std::string> threads;
  bool dry_run = false;
  bool json = false;
  bool quiet = false;
};

// The judge that is named, the run's own, or one that is trained now and kept there. Null: texts show it themselves.
std::unique_ptr<Judge> find_judge(const CalibrateFlags& options, const Checkpoint& checkpoint, const Knob& knob,
                                  const fs::path& folder, const InterruptGuard& interrupt) {
  if (options.judge) return open_judge(*options.judge, options.patience, knob, interrupt);
  if (!knob.of_column) return nullptr;
  if (std::optional<LinearJudge> kept = find_run_judge(folder, knob))
    return std::make_unique<LinearJudge>(std::move(*kept));
  const TrainedJudge trained = train_run_judge(checkpoint.experiment(), knob);
  if (const std::string doubts = judge_doubts(knob, trained.quality); !doubts.empty())
    throw Error(fmt::format("knob {}: {}; name a better one with --judge", knob.name, doubts));
  write_atomically(RunFiles{folder}.judge(knob.name), trained.judge.bytes());
  return std::make_unique<LinearJudge>(trained.judge);
}

Json as_json(const Knob& knob, const CalibrationResult& result) {
  Json levels = Json::array();
  for (const CalibrationLevel& level : result.levels) {
    levels.push_back({{"asked", level.asked.values},
                      {"raw", level.raw.values},
                      {"calibrated", level.calibrated.values},
                      {"ci95", level.calibrated.half_widths}});
  }
  Json values = Json::array();
  for (const std::vector<CalibrationPoint>& points : result.map.values) {
    Json list = Json::array();
    for (const CalibrationPoint& point : points)
      list.push_back({{"asked", point.asked}, {"request", point.request}, {"guidance", point.guidance}});
    values.push_back(std::move(list));
  }
  Json raw = {{"mae", result.raw_mean_error}, {"largest", result.raw_largest_error}};
  Json calibrated = {{"mae", result.mean_error}, {"largest", result.largest_error}};
  const auto add_texts = [](Json& json, const std::optional<TextMatch>& texts) {
    if (texts) json["texts"] = {{"mae", texts->distance}, {"correlation", texts->correlation}};
  };
  add_texts(raw, result.raw_texts);
  add_texts(calibrated, result.texts);
  return {{"knob", knob.name},       {"judge", result.map.judge},           {"n", result.map.n},
          {"raw", std::move(raw)},   {"calibrated", std::move(calibrated)}, {"levels", std::move(levels)},
          {"map", std::move(values)}};
}

int calibrate(const CalibrateFlags& options) {
  CalibrateOptions how;
  how.n = parse_whole_number("--n", options.n, 10, 1'000'000).value_or(how.n);
  how.seed = parse_whole_number("--seed", options.seed, 0, std::numeric_limits<std::int64_t>::max()).value_or(how.seed);
  how.max_tokens = parse_whole_number("--max-tokens", options.max_tokens, 1, 100'000).value_or(how.max_tokens);
  how.threads = parse_threads(options.threads);
  std::error_code ignored;
  const fs::path file = fs::is_directory(options.run, ignored) ? RunFiles{options.run}.model() : fs::path(options.run);
  Checkpoint checkpoint = load_checkpoint(file);
  if (!options.dry_run) require_writable(file);
  const std::vector<Knob>& knobs = checkpoint.model.options().knobs;
  std::vector<std::string> names;
  names.reserve(knobs.size());
  for (const Knob& knob : knobs) names.push_back(knob.name);
  if (names.empty())
    throw Error(fmt::format("{}: the model has no knobs; train one that has (model.knobs)", options.run));
  const std::size_t index = knob_index(knobs, options.knob);
  if (index == knobs.size()) {
    throw Error(fmt::format("--knob: there is no knob \"{}\"{}; knobs of this model are {}", printable(options.knob),
                            did_you_mean(options.knob, names), fmt::join(names, ", ")));
  }
  const Knob& knob = knobs[index];
  const InterruptGuard interrupt;
  const std::unique_ptr<Judge> judge = find_judge(options, checkpoint, knob, file.parent_path(), interrupt);
  StudyProgress progress(options.quiet || options.json);
  how.go_on = [&](double done) {
    progress.show(fmt::format("calibrating {}", knob.name), done);
    return interrupt.signal() == 0;
  };
  std::optional<CalibrationResult> result;
  try {
    result = calibrate_knob(checkpoint.model, knob, judge.get(), how);
  } catch (const Error&) {
    if (interrupt.signal() == 0) throw;  // Else it is the judge that was stopped.
  }
  progress.clear();
  if (!result) {
    notify("stopped; the model is as it was");
    return interrupt.exit_code();
  }
  if (!options.dry_run) {
    Calibration maps = checkpoint.model.calibration();
    maps[knob.name] = result->map;
    checkpoint.model.set_calibration(std::move(maps));
    save_checkpoint(file, checkpoint.model, checkpoint.config);
  }
  const Terminal terminal(stdout);
  if (options.json) terminal.print(as_json(knob, *result).dump() + '\n');
  if (options.json || options.quiet) return 0;
  terminal.print(calibration_table(terminal, knob, *result));
  terminal.print(fmt::format("{} {}\n", printable(file.string()), options.dry_run ? "is as it was" : "has the map"));
  return 0;
}

}  // namespace

Command calibrate_command(CommandLine& program) {
  CommandLine* app =
      program.add_subcommand("calibrate", "Make a knob mean what it says: measure it with a judge, and map requests");
  const auto options = std::make_shared<CalibrateFlags>();
  app->add_option("RUN", options->run, "A run folder or a .safetensors file; the map is stored in the model's file")
      ->required();
  app->add_option("--knob", options->knob, "The knob to calibrate")->type_name("NAME")->required();
  app->add_option("--judge", options->judge,
                  "A judge's file (`semfuse judge train`), or a command that reads a text a line and writes a number a "
                  "line (default: the run's own, of texts that it kept apart)")
      ->type_name("JUDGE");
  app->add_option("--judge-timeout", options->patience, "Seconds that a command may take at a time (600)")
      ->type_name("S");
  app->add_option("--n", options->n, "Texts that each point is measured on (1000)")->type_name("N");
  app->add_option("--seed", options->seed, "Same seed, same texts (1)")->type_name("N");
  app->add_option("--max-tokens", options->max_tokens, "Most tokens of a text (64)")->type_name("N");
  app->add_flag("--dry-run", options->dry_run, "Measure only, and leave the model as it is");
  app->add_flag("--json", options->json, "Print one JSON object: levels, errors, the map");
  app->add_flag("--quiet", options->quiet, "Print nothing");
  app->add_option("--threads", options->threads, "The result is the same for any number (one for each processor)")
      ->type_name("N");
  app->footer(
      "A setting is then turned into a request and guidance, as measured; `generate --uncalibrated` leaves that out.\n"
      "The table shows what comes of settings before and after, on texts that the map was not made of.\n\n"
      "Examples:\n"
      "  semfuse calibrate model --knob polarity\n"
      "  semfuse calibrate model --knob polarity --judge polarity.safetensors --n 2000\n"
      "  semfuse calibrate model --knob polarity --judge 'python3 my_judge.py'\n");
  return {.app = app, .purpose = "this calibration", .run = [options] { return calibrate(*options); }};
}

}  // namespace semfuse
