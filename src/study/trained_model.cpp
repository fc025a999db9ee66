#include "study/trained_model.h"

#include <chrono>

namespace semfuse {
namespace {

// False if go_on said no.
bool train(TrainedModel& trained, bool evaluate_epochs, const GoOn& go_on) {
  using Clock = std::chrono::steady_clock;
  Assembly& assembly = trained.assembly;
  Trainer trainer = assembly.new_trainer();
  const auto total = static_cast<double>(trainer.total_steps());
  double seconds = 0.0;
  double share = 0.0;
  while (!trainer.done()) {
    if (!go_on(share)) return false;
    const auto begin = Clock::now();
    const StepReport report = trainer.step();
    seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    share = static_cast<double>(report.step) / total;
    if (evaluate_epochs && report.ends_epoch) trained.evaluations.push_back(assembly.evaluate());
  }
  trained.step_ms = seconds / total * 1e3;
  return true;
}

}  // namespace

std::optional<TrainedModel> train_model(const Experiment& experiment, std::size_t threads, bool evaluate_epochs,
                                        const GoOn& go_on) {
  TrainedModel trained{.assembly = assemble(experiment, threads), .evaluations = {}};
  if (!train(trained, evaluate_epochs, go_on)) return std::nullopt;
  return trained;
}

}  // namespace semfuse
