#include "run/label_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "features/knob_index.h"
#include "io/file.h"
#include "run/run_files.h"
#include "run/run_judge.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "semfuse/steering.h"
#include "steering/label_shares.h"

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

constexpr double kHeadPart = 0.5;  // Of the time that a knob takes, where it gets a head.

// A causal model turns a probability by a head: that costs one pass, and it knows the text so far.
bool gets_head(const LanguageModel& model, const Knob& knob) {
  return knob.kind == KnobKind::probability && model.options().attention == AttentionMask::causal;
}

// False if go_on said so. Throws Error if there is nothing to learn.
bool train_head(const TrainingRun& run, const Knob& knob, const Judge& judge, const LabelCalibrationOptions& options,
                LanguageModel& model) {
  const Dataset& texts = *run.data().train;
  SteeringTraining training{
      .seed = run.experiment().seed, .threads = options.threads, .judge = {}, .others = true, .on_step = {}};
  training.judge = [&](std::span<const std::string> written) { return judge.judge(written); };
  bool go_on = true;
  training.on_step = [&](std::uint64_t step, std::uint64_t steps, double) {
    const double done = static_cast<double>(step) / static_cast<double>(steps);
    return go_on = !options.go_on || options.go_on(knob, kHeadPart * done);
  };
  try {
    KnobHeads heads = model.heads();
    const std::vector<float> labels = label_shares(texts, knob_index(model.options().knobs, knob.name));
    heads[knob.name] = train_steering(model, texts, labels, SteeringMethod::value, knob.name, training);
    model.set_heads(std::move(heads));
    return true;
  } catch (const Error&) {
    if (go_on) throw;
    return false;
  }
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
  const bool has_head = gets_head(checkpoint.model, knob);
  if (has_head && !train_head(run, knob, trained.judge, options, checkpoint.model)) return false;
  const double before = has_head ? kHeadPart : 0.0;
  CalibrateOptions calibration{
      .n = texts_a_point(run), .seed = run.experiment().seed, .threads = options.threads, .go_on = {}};
  if (options.go_on) {
    calibration.go_on = [&](double done) { return options.go_on(knob, before + (1.0 - before) * done); };
  }
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
