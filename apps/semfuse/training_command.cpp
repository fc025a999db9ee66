#include "training_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "calibration_view.h"
#include "core/thread_pool.h"
#include "interrupt.h"
#include "io/json_writer.h"
#include "kernels/instruction_set.h"
#include "processes.h"
#include "run/checkpoint_store.h"
#include "run/label_calibration.h"
#include "run/run_files.h"
#include "run_view.h"
#include "semfuse/error.h"
#include "settings.h"
#include "study_progress.h"
#include "text_evaluation.h"

namespace semfuse {
namespace {

// Says what is read and found while an experiment comes of the request.
Experiment resolved_experiment(const TrainingCommandOptions& options) {
  TrainingRequest request = options.request;
  request.table = options.table;
  request.calibrate = !options.no_calibrate;
  StudyProgress progress(options.quiet);
  request.on_columns = [&](double done) {
    progress.show("looking for knobs in the columns", done);
    if (done >= 1.0) progress.clear();
  };
  request.on_note = [&](const std::string& note) {
    if (!options.quiet) notify(printable(note));
  };
  return resolve(request);
}

TrainingRun make_run(const TrainingCommandOptions& options, std::size_t threads, std::shared_ptr<Exchange> exchange) {
  constexpr std::uint64_t kMost = 1'000'000'000;
  const TrainingRunOptions run_options = {
      .threads = threads,
      .checkpoint_every = parse_whole_number("--checkpoint-every", options.checkpoint_every, 1, kMost),
      .keep = parse_whole_number("--keep", options.keep, 1, kMost),
      .calibrate = options.no_calibrate ? std::optional(false) : std::nullopt,
      .on_data = show_data_progress(options.quiet),
      .exchange = std::move(exchange)};
  if (options.resume) {
    if (options.resume->empty()) throw Error("--resume is empty; name the folder of a run");
    return TrainingRun::resume(*options.resume, run_options);
  }
  if (!options.out) {
    throw Error(
        fmt::format("--out is required, or --resume to go on with a run; see `semfuse {} --help`", options.command));
  }
  if (options.out->empty()) throw Error("--out is empty; name a folder for the run");
  return TrainingRun(resolved_experiment(options), *options.out, run_options);
}

// "semfuse train --resume RUN", to be typed into a shell.
std::string resume_command(std::string word) {
  const std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+,:@%";
  if (word.find_first_not_of(plain) == word.npos) return "semfuse train --resume " + word;
  for (std::size_t quote = word.find('\''); quote != word.npos; quote = word.find('\'', quote + 4)) {
    word.replace(quote, 1, "'\\''");
  }
  return fmt::format("semfuse train --resume '{}'", word);
}

// Processes on one machine that nobody has given processors of their own share them.
std::size_t threads_of(const TrainingCommandOptions& options, const Exchange& exchange) {
  const std::size_t wanted = parse_threads(options.threads);
  if (wanted > 0 || exchange.size() == 1) return thread_count(wanted);
  const std::size_t usable = thread_count(0);
  if (usable < static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN))) return usable;
  std::size_t here = 0;
  for (std::size_t rank = 0; rank < exchange.size(); ++rank) {
    here += exchange.host(rank) == exchange.host(exchange.rank()) ? 1 : 0;
  }
  return std::max<std::size_t>(1, usable / here);
}

std::string how_to_go_on(const std::filesystem::path& folder) {
  return fmt::format("go on with `{}`", printable(resume_command(folder.string())));
}

// Of one that may not have begun.
std::string how_to_go_on(const TrainingCommandOptions& options) {
  const std::filesystem::path folder = options.resume.value_or(options.out.value_or(""));
  std::error_code ignored;
  if (std::filesystem::exists(RunFiles{folder}.config(), ignored)) return how_to_go_on(folder);
  return "nothing was written yet, so give the same command again";
}

// One of several processes that is not the first: it computes and says nothing.
int follow(TrainingCommandOptions options, const std::shared_ptr<Exchange>& exchange) {
  options.quiet = true;
  TrainingRun run = make_run(options, threads_of(options, *exchange), exchange);
  if (run.finished()) return 0;
  const InterruptGuard interrupt;
  run.run([&](const RunEvent&) { return interrupt.signal() == 0; });
  return 0;
}

// What comes after the last step. False if a signal stopped it, which is then said.
bool calibrate_run(const TrainingCommandOptions& options, const TrainingRun& run, bool only_missing) {
  if (!run.calibrates()) return true;
  if (calibrate_labels(run, only_missing, options.quiet, parse_threads(options.threads), options.json)) return true;
  notify(fmt::format("stopped; the model is trained, and not all of its knobs are calibrated; {}",
                     how_to_go_on(run.folder())));
  return false;
}

// Of a run that has made all its steps; it may have been stopped after them.
int resume_finished(const TrainingCommandOptions& options, const TrainingRun& run) {
  const InterruptGuard interrupt;
  const bool resumes = run.calibrates() && lacks_calibration(run);
  if (!options.quiet) {
    Terminal(options.json ? stderr : stdout)
        .print(fmt::format("{}: all {} steps are done, {}\n", printable(run.folder().string()),
                           with_separators(run.total_steps()),
                           resumes ? "its knobs are yet to be calibrated" : "there is nothing to resume"));
  }
  if (resumes && !calibrate_run(options, run, true)) return interrupt.exit_code();
  const Json object = {{"run", run.folder().string()}, {"steps", run.total_steps()}, {"resumed", resumes}};
  if (options.json) Terminal(stdout).print(object.dump() + '\n');
  return 0;
}

int lead(const TrainingCommandOptions& options, const std::shared_ptr<Exchange>& exchange) {
  const std::size_t threads = threads_of(options, *exchange);
  TrainingRun run = make_run(options, threads, exchange);
  if (run.finished()) return resume_finished(options, run);
  std::string origin = options.request.config ? *options.request.config : preset_of(options.request);
  if (options.resume) origin = RunFiles{run.folder()}.config().string();
  RunView view(run, {.origin = origin,
                     .threads = threads,
                     .processes = exchange->size(),
                     .quiet = options.quiet,
                     .to_stderr = options.json});
  const InterruptGuard interrupt;
  const RunOutcome outcome = run.run([&](const RunEvent& event) {
    view.show(event);
    return interrupt.signal() == 0;
  });
  view.clear();
  if (!outcome.finished) {
    const std::string failure = outcome.not_saved.empty() ? ""
                                                          : fmt::format("; {}, so going on begins at step {}",
                                                                        outcome.not_saved, outcome.saved_step);
    notify(fmt::format("stopped at step {} of {}; {}{}; {}", outcome.steps, run.total_steps(), printable(outcome.model),
                       printable(failure), how_to_go_on(run.folder())));
    return interrupt.exit_code();
  }
  view.finish(outcome);
  if (!calibrate_run(options, run, false)) return interrupt.exit_code();
  if (options.json) Terminal(stdout).print(outcome_json(run, outcome, view.seconds(), threads).dump() + '\n');
  return 0;
}

}  // namespace

int run_training(const TrainingCommandOptions& options) {
  const auto train = [&](const std::shared_ptr<Exchange>& exchange) {
    if (options.instruction_set) use_instruction_set(*options.instruction_set);
    return exchange->rank() > 0 ? follow(options, exchange) : lead(options, exchange);
  };
  return run_in_processes(train, [&] { return how_to_go_on(options); });
}

std::vector<CommandOption*> add_data_options(CommandLine& app, TrainingCommandOptions& options) {
  CommandOption* data =
      app.add_option(
             "--data", options.request.data,
             "Texts of your own: .txt (one a line), .tsv, .csv or .jsonl, also .gz or .zst; several files too; or "
             "`everyday`, the English sentences that semfuse carries")
          ->type_name("FILE")
          ->several();
  CommandOption* val =
      app.add_option("--val", options.request.val,
                     "Texts to measure with (default: one in twenty of those of --data, the same ones every time)")
          ->type_name("FILE")
          ->several();
  std::vector<CommandOption*> how = options.table.add_to(app);
  how.push_back(options.table.add_skip_bad(app));
  how.insert(how.end(), {data, val});
  return how;
}

void add_run_options(CommandLine& app, TrainingCommandOptions& options, std::vector<CommandOption*> others) {
  app.heading("The run");
  CommandOption* out =
      app.add_option("--out", options.out,
                     "Folder for the run, new or empty: model.safetensors, config.toml, log.jsonl, checkpoints")
          ->type_name("RUN");
  CommandOption* resume =
      app.add_option("--resume", options.resume,
                     "Go on with a run that was stopped, from its newest whole checkpoint; needs no other option")
          ->type_name("RUN");
  others.push_back(out);
  for (CommandOption* other : others) resume->excludes(other);
  app.add_option("--checkpoint-every", options.checkpoint_every,
                 fmt::format("Steps from one checkpoint to the next (default: {})", CheckpointSettings().every))
      ->type_name("N");
  app.add_option("--keep", options.keep,
                 fmt::format("Newest checkpoints to keep (default: {})", CheckpointSettings().keep))
      ->type_name("N");
  app.add_flag("--no-calibrate", options.no_calibrate,
               "Keep no texts apart for a judge of labels, and do not calibrate their knobs at the end");
  app.heading("");
  app.add_option("--threads", options.threads,
                 "Threads to compute with, of each process; the result is the same for any number (default: one for "
                 "each processor)")
      ->type_name("N");
  app.add_option("--instruction-set", options.instruction_set,
                 "Compute as a processor does that has no better one: AVX3, AVX2, ...; for the same bits on different "
                 "machines")
      ->type_name("NAME");
  app.add_flag("--quiet", options.quiet, "Show no progress");
  app.add_flag("--json", options.json, "Print one JSON object at the end; progress goes to standard error");
}

}  // namespace semfuse
