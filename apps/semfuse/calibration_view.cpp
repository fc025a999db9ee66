#include "calibration_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "interrupt.h"
#include "io/file.h"
#include "run/run_files.h"
#include "run/run_judge.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "study_progress.h"
#include "table.h"

namespace semfuse {
namespace {

std::string joined(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(fmt::format("{:.3f}", value));
  return fmt::format("{}", fmt::join(texts, " / "));
}

// Measuring must take less time than training: a third of the texts that training read, at most.
std::size_t texts_a_point(const TrainingRun& run) {
  constexpr std::size_t kPoints = 54, kShare = 3, kFewest = 100, kMost = 1000;
  const TrainingOptions& training = run.experiment().training;
  const std::size_t texts = training.steps > 0 ? training.steps * training.batch : run.num_texts() * training.epochs;
  return std::clamp(texts / (kPoints * kShare), kFewest, kMost);
}

}  // namespace

std::string calibration_table(const Terminal& terminal, const Knob& knob, const CalibrationResult& result) {
  Table table({Table::Align::left, Table::Align::right});
  table.add({{.text = "asked"}, {.text = "raw"}, {.text = "calibrated"}, {.text = "±"}});
  for (const CalibrationLevel& level : result.levels) {
    table.add({{.text = to_string({&knob, 1}, level.asked)},
               {.text = joined(level.raw.values)},
               {.text = joined(level.calibrated.values)},
               {.text = fmt::format("{:.3f}", *std::ranges::max_element(level.calibrated.half_widths)), .dim = true}});
  }
  return terminal.bold(knob.name) +
         fmt::format("  mean error {:.3f} raw, {:.3f} calibrated; largest {:.3f} raw, {:.3f} calibrated\n",
                     result.raw_mean_error, result.mean_error, result.raw_largest_error, result.largest_error) +
         table.text(terminal, 2, 2);
}

void calibrate_labels(const TrainingRun& run, bool quiet, std::size_t threads, bool to_stderr) {
  const Experiment& experiment = run.experiment();
  const RunFiles files{run.folder()};
  if (experiment.data.judge_share == 0.0) return;
  const Terminal terminal(to_stderr ? stderr : stdout);
  const InterruptGuard interrupt;
  for (const Knob& knob : run.model().options().knobs) {
    if (!knob.of_column) continue;
    try {
      StudyProgress progress(quiet);
      const TrainedJudge trained = train_run_judge(experiment, knob);
      if (const std::string doubts = judge_doubts(knob, trained.quality); !doubts.empty()) {
        notify(printable(fmt::format(
            "knob {} is not calibrated: {}; name a better one with `semfuse calibrate --judge`", knob.name, doubts)));
        continue;
      }
      write_atomically(files.judge(knob.name), trained.judge.bytes());
      Checkpoint checkpoint = load_checkpoint(files.model());
      CalibrateOptions options{.n = texts_a_point(run), .seed = experiment.seed, .threads = threads};
      options.go_on = [&](double done) {
        progress.show(fmt::format("calibrating {}", knob.name), done);
        return interrupt.signal() == 0;
      };
      const std::optional<CalibrationResult> result = calibrate_knob(checkpoint.model, knob, &trained.judge, options);
      progress.clear();
      if (!result) {
        notify(printable(fmt::format("stopped; knob {0} is not calibrated, `semfuse calibrate {1} --knob {0}` does it",
                                     knob.name, run.folder().string())));
        return;
      }
      Calibration maps = checkpoint.model.calibration();
      maps[knob.name] = result->map;
      checkpoint.model.set_calibration(std::move(maps));
      save_checkpoint(files.model(), checkpoint.model, checkpoint.config);
      if (!quiet) terminal.print(calibration_table(terminal, knob, *result));
    } catch (const Error& error) {
      notify(printable(fmt::format("knob {} is not calibrated: {}", knob.name, error.what())));
    }
  }
}

}  // namespace semfuse
