#include "checkpoints.h"

#include <fmt/format.h>

#include <algorithm>

#include "semfuse/error.h"
#include "terminal.h"

namespace semfuse {

void warn(Progress& progress, std::string_view text) {
  progress.clear();
  try {
    Terminal(stderr).print(fmt::format("semfuse: {}\n", printable(text)));
  } catch (const BrokenPipe&) {  // There is nowhere to say it.
  } catch (const Error&) {
  }
}

Checkpoints::Checkpoints(const RunFolder& folder, const CheckpointSettings& settings, const Experiment& experiment,
                         LanguageModel& model, Trainer& trainer)
    : folder_(folder),
      settings_(settings),
      experiment_(experiment),
      model_(model),
      trainer_(trainer),
      store_(folder.checkpoints_path()) {}

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

void Checkpoints::after_step(RunLog& log, Progress& progress) {
  const std::uint64_t step = trainer_.state().step;
  if (step % settings_.every != 0 && !trainer_.done()) return;
  const std::optional<std::string> failure = save(log);
  if (!failure) return;
  if (folder_.is_gone()) throw Error(fmt::format("{}; the run's folder is gone", *failure));
  warn(progress, trainer_.done() ? fmt::format("{}; the model itself is saved", *failure)
                                 : fmt::format("{}; training goes on and tries again at step {}", *failure,
                                               std::min(step + settings_.every, trainer_.total_steps())));
}

std::optional<std::string> Checkpoints::save(RunLog& log) {
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

bool is_finished(const std::filesystem::path& run, const Experiment& experiment, LanguageModel& model,
                 Trainer& trainer) {
  const CheckpointStore store(run / "checkpoints");
  const std::vector<CheckpointStore::Entry> entries = store.list();
  if (entries.empty() || entries.front().step != trainer.total_steps()) return false;
  const CheckpointStore::Found found = store.find_newest();
  if (!found.checkpoint || found.checkpoint->state.step != trainer.total_steps()) return false;
  resume_training(*found.checkpoint, found.path.string(), experiment, model, trainer);
  return true;
}

}  // namespace semfuse
