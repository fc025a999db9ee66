#include "run/label_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "io/file.h"
#include "run/run_files.h"
#include "run/run_judge.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

// Measuring must take less time than training: a third of the texts that training read, at most.
std::size_t texts_a_point(const TrainingRun& run) {
  constexpr std::size_t kPoints = 54, kShare = 3, kFewest = 100, kMost = 1000;
  const TrainingOptions& training = run.experiment().training;
  const std::size_t texts = training.steps > 0 ? training.steps * training.batch : run.num_texts() * training.epochs;
  return std::clamp(texts / (kPoints * kShare), kFewest, kMost);
}

std::vector<Knob> knobs_to_calibrate(const TrainingRun& run, bool only_missing) {
  std::vector<Knob> knobs;
  if (run.experiment().data.judge_share == 0.0) return knobs;
  for (const Knob& knob : run.model().options().knobs) {
    if (knob.of_column) knobs.push_back(knob);
  }
  if (!only_missing || knobs.empty()) return knobs;
  const Checkpoint checkpoint = load_checkpoint(RunFiles{run.folder()}.model());
  std::erase_if(knobs, [&](const Knob& knob) { return checkpoint.model.calibration().contains(knob.name); });
  return knobs;
}

// False if go_on said so.
bool calibrate(const TrainingRun& run, const Knob& knob, const LabelCalibrationOptions& options) {
  const auto note = [&](const std::string& text) {
    if (options.on_note) options.on_note(text);
  };
  const RunFiles files{run.folder()};
  const TrainedJudge trained = train_run_judge(run.experiment(), knob);
  if (const std::string doubts = judge_doubts(knob, trained.quality); !doubts.empty()) {
    note(fmt::format("knob {} is not calibrated: {}; name a better one with `semfuse calibrate --judge`", knob.name,
                     doubts));
    return true;
  }
  write_atomically(files.judge(knob.name), trained.judge.bytes());
  Checkpoint checkpoint = load_checkpoint(files.model());
  CalibrateOptions calibration{
      .n = texts_a_point(run), .seed = run.experiment().seed, .threads = options.threads, .go_on = {}};
  if (options.go_on) calibration.go_on = [&](double done) { return options.go_on(knob, done); };
  const std::optional<CalibrationResult> result = calibrate_knob(checkpoint.model, knob, &trained.judge, calibration);
  if (!result) return false;
  Calibration maps = checkpoint.model.calibration();
  maps[knob.name] = result->map;
  checkpoint.model.set_calibration(std::move(maps));
  save_checkpoint(files.model(), checkpoint.model, checkpoint.config);
  if (options.on_result) options.on_result(knob, *result);
  return true;
}

}  // namespace

bool lacks_calibration(const TrainingRun& run) {
  return !knobs_to_calibrate(run, true).empty();
}

bool calibrate_labels(const TrainingRun& run, const LabelCalibrationOptions& options) {
  for (const Knob& knob : knobs_to_calibrate(run, options.only_missing)) {
    try {
      if (!calibrate(run, knob, options)) return false;
    } catch (const Error& error) {
      if (options.on_note) options.on_note(fmt::format("knob {} is not calibrated: {}", knob.name, error.what()));
    }
  }
  return true;
}

}  // namespace semfuse
