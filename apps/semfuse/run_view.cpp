#include "run_view.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "semfuse/error.h"

namespace semfuse {
namespace {

Json evaluation_json(const LoggedEvaluation& evaluation) {
  return {{"epoch", evaluation.epoch},
          {"step", evaluation.step},
          {"attention", evaluation.attention},
          {"perplexity", evaluation.perplexity},
          {"seen_only_perplexity", evaluation.seen_only_perplexity},
          {"feature_mse", evaluation.feature_mse}};
}

std::string workers(std::size_t processes, std::size_t threads) {
  const std::string each = counted(threads, "thread");
  return processes == 1 ? each : fmt::format("{} processes with {} each", processes, each);
}

}  // namespace

Json outcome_json(const TrainingRun& run, const RunOutcome& outcome, double seconds, std::size_t threads) {
  Json evaluations = Json::array();
  for (const LoggedEvaluation& evaluation : outcome.evaluations) evaluations.push_back(evaluation_json(evaluation));
  return {{"run", run.folder().string()},
          {"model", run.model_path().string()},
          {"seed", run.experiment().seed},
          {"parameters", run.model().parameter_count()},
          {"attention", to_string(run.model().options().attention)},
          {"steps", outcome.steps},
          {"first_step", outcome.first_step},
          {"skipped", outcome.skipped},
          {"tokens", outcome.tokens},
          {"seconds", seconds},
          {"tokens_per_second", outcome.tokens_per_second},
          {"processes", outcome.processes},
          {"threads", threads},
          {"waiting_share", outcome.waiting_share},
          {"evaluations", std::move(evaluations)}};
}

RunView::RunView(const TrainingRun& run, RunViewOptions options)
    : run_(run),
      options_(std::move(options)),
      terminal_(options_.to_stderr ? stderr : stdout),
      begin_(std::chrono::steady_clock::now()) {}

double RunView::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void RunView::show(const RunEvent& event) {
  std::visit([&](const auto& happened) { show_event(happened); }, event);
}

void RunView::show_event(const RunStarted& event) {
  progress_.emplace(terminal_, options_.quiet, event.total_epochs, event.first_step, event.total_steps);
  epochs_ = event.total_epochs;
  progress_->line(heading());
  if (event.resumed.empty()) return;
  progress_->line(fmt::format("{}: {}", printable(run_.folder().string()), printable(event.resumed)));
}

void RunView::show_event(const RunStep& event) {
  progress_->step(event.report, event.seconds);
}

void RunView::show_event(const RunEvaluation& event) {
  const Evaluation& evaluation = event.evaluation;
  std::string text =
      fmt::format("epoch {}/{}  loss {}  validation perplexity {} ({} attention)", event.report.epoch, epochs_,
                  readable(event.report.loss, 4), readable(evaluation.perplexity, 4), to_string(evaluation.attention));
  if (!std::isnan(evaluation.seen_only_perplexity))
    text += fmt::format(", seen-only {}", readable(evaluation.seen_only_perplexity, 4));
  if (!std::isnan(evaluation.feature_mse)) text += fmt::format(", feature MSE {:.5f}", evaluation.feature_mse);
  if (!event.finite) text += "; not finite, so the model is not saved";
  progress_->line(text);
}

void RunView::show_event(const RunWarning& event) {
  clear();
  try {
    notify(event.text);
  } catch (const BrokenPipe&) {  // There is nowhere to say it.
  } catch (const Error&) {
  }
}

void RunView::clear() {
  if (progress_) progress_->clear();
}

void RunView::finish(const RunOutcome& outcome) {
  std::string note;
  if (outcome.skipped > 0) {
    note = fmt::format("; {} of {} steps were skipped, their loss or gradient was not finite", outcome.skipped,
                       outcome.steps);
  }
  std::string together;
  if (outcome.processes > 1) {
    together = fmt::format("; {}, {:.1f} % of the time waiting for others",
                           workers(outcome.processes, options_.threads), 100.0 * outcome.waiting_share);
  }
  progress_->line(fmt::format("done in {} ({} tokens/s in training{}){}; {}", duration(seconds()),
                              with_separators(static_cast<std::uint64_t>(outcome.tokens_per_second)), together, note,
                              printable(outcome.model)));
  if (!outcome.evaluations.empty() && !std::isfinite(outcome.evaluations.back().perplexity)) {
    throw Error(fmt::format("validation after the last step is not finite; try a lower training.learning_rate; {}",
                            outcome.model));
  }
  if (!progress_->failure().empty()) throw Error(fmt::format("{}; {}", progress_->failure(), outcome.model));
}

std::string RunView::heading() const {
  return fmt::format("{}: {} parameters, {} attention, {} {}, {} steps; seed {}, {}", printable(options_.origin),
                     with_separators(run_.model().parameter_count()), to_string(run_.model().options().attention),
                     with_separators(run_.num_texts()), run_.model().tokenizer() == nullptr ? "sentences" : "texts",
                     with_separators(run_.total_steps()), run_.experiment().seed,
                     workers(options_.processes, options_.threads));
}

}  // namespace semfuse
