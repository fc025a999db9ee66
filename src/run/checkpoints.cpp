#include "run/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/file.h"
#include "run/run_log.h"
#include "semfuse/error.h"

namespace semfuse {

Checkpoints::Checkpoints(const RunFolder& folder, const CheckpointSettings& settings, const Experiment& experiment,
                         LanguageModel& model, Trainer& trainer)
    : folder_(folder),
      settings_(settings),
      experiment_(experiment),
      model_(model),
      trainer_(trainer),
      store_(folder.files().checkpoints()) {}

std::string Checkpoints::resume(std::vector<std::string>& damaged) {
  const CheckpointStore::Found found = store_.find_newest();
  for (const CheckpointStore::Damage& damage : found.damaged) {
    damaged.push_back(fmt::format("{}; it is set aside as {}.damaged", damage.reason, damage.path.filename().string()));
  }
  if (found.checkpoint) {
    resume_training(*found.checkpoint, found.path.string(), experiment_, model_, trainer_);
    saved_step_ = found.checkpoint->state.step;
  }
  store_.set_aside(found.damaged);
  if (!found.checkpoint) {
    return found.damaged.empty() ? "there is no checkpoint yet, so it begins again at step 0"
                                 : "no checkpoint is whole, so it begins again at step 0";
  }
  return fmt::format("it goes on from step {} of {} ({})", saved_step_, trainer_.total_steps(), found.path.string());
}

std::optional<std::string> Checkpoints::after_step(RunLogWriter& log) {
  const std::uint64_t step = trainer_.state().step;
  if (step % settings_.every != 0 && !trainer_.done()) return std::nullopt;
  const std::optional<std::string> failure = save(log);
  if (!failure) return std::nullopt;
  if (folder_.is_gone()) throw Error(fmt::format("{}; the run's folder is gone", *failure));
  if (trainer_.done()) return fmt::format("{}; the model itself is saved", *failure);
  return fmt::format("{}; training goes on and tries again at step {}", *failure,
                     std::min(step + settings_.every, trainer_.total_steps()));
}

std::optional<std::string> Checkpoints::save(RunLogWriter& log) {
  const TrainingState state = trainer_.state();
  if (state.step == saved_step_ && state.step > 0) return std::nullopt;
  // A checkpoint must not be ahead of the log.
  log.sync();
  try {
    store_.save(model_, state, experiment_, settings_.keep);
  } catch (const Error& error) {
    return error.what();
  }
  saved_step_ = state.step;
  return std::nullopt;
}

namespace {

// Of a run whose last checkpoint could not be written, or is gone.
bool is_finished_without_checkpoint(const RunFiles& run, const Experiment& experiment, std::uint64_t total_steps,
                                    LanguageModel& model) {
  try {
    const RunHistory history = parse_run_log(read_text(run.log()), run.log().string());
    if (!history.finished || history.steps.size() != total_steps) return false;
    const Checkpoint saved = load_checkpoint(run.model());
    if (to_toml(saved.experiment()) != to_toml(experiment)) return false;
    for (const NamedParameter& parameter : saved.model.parameters())
      model.set_parameter(parameter.name, parameter.values);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool is_finished(const RunFiles& run, const Experiment& experiment, LanguageModel& model, Trainer& trainer) {
  const CheckpointStore store(run.checkpoints());
  const std::vector<CheckpointStore::Entry> entries = store.list();
  if (!entries.empty() && entries.front().step == trainer.total_steps()) {
    const CheckpointStore::Found found = store.find_newest();
    if (found.checkpoint && found.checkpoint->state.step == trainer.total_steps()) {
      resume_training(*found.checkpoint, found.path.string(), experiment, model, trainer);
      return true;
    }
  }
  return is_finished_without_checkpoint(run, experiment, trainer.total_steps(), model);
}

}  // namespace semfuse
