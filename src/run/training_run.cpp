#include "semfuse/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <utility>

#include "config/feature_sources.h"
#include "config/lexicon_source.h"
#include "features/banks.h"
#include "features/feature_bank_access.h"
#include "features/knob_support.h"
#include "features/natural_bank.h"
#include "features/word_vectors.h"
#include "io/file.h"
#include "io/output_folder.h"
#include "kernels/instruction_set.h"
#include "model/model_access.h"
#include "run/checkpoint_store.h"
#include "run/checkpoints.h"
#include "run/run_folder.h"
#include "run/run_log.h"
#include "run/run_log_writer.h"
#include "run/shared_run.h"
#include "semfuse/assembly.h"
#include "semfuse/error.h"
#include "training/exchange.h"

namespace semfuse {
namespace {

using Clock = std::chrono::steady_clock;

// As feature_sources() have them.
constexpr const char* kKeptDeclaration = "features.bank";
constexpr const char* kKeptTagger = "words.tagger";

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

LoggedEvaluation logged(const StepReport& report, const Evaluation& evaluation) {
  return {.step = report.step,
          .epoch = report.epoch,
          .attention = std::string(to_string(evaluation.attention)),
          .perplexity = evaluation.perplexity,
          .seen_only_perplexity = evaluation.seen_only_perplexity,
          .feature_mse = evaluation.feature_mse};
}

// What the options say, and for the rest what `before` has.
CheckpointSettings checkpoint_settings(const TrainingRunOptions& options, const CheckpointSettings& before = {}) {
  const CheckpointSettings settings{.every = options.checkpoint_every.value_or(before.every),
                                    .keep = options.keep.value_or(before.keep),
                                    .calibrate = options.calibrate.value_or(before.calibrate)};
  if (settings.every == 0 || settings.keep == 0) throw Error("checkpoint_every and keep must be above 0");
  return settings;
}

// A run has copies of what its features are made of beside its configuration.
Experiment with_kept_sources(Experiment experiment) {
  for (const FeatureSource& source : feature_sources()) {
    if (source.is_file(experiment)) experiment.*source.name = source.kept_as;
  }
  if (!experiment.init.empty()) experiment.init = RunFiles::kInitialModel;
  return experiment;
}

// The names of what the model's features are made of, or what a run calls copies of it.
void name_sources(const NaturalBank& bank, Experiment& experiment) {
  const auto is_it = [&](const EmbeddedText& embedded) { return embedded.text == bank.declaration().text; };
  const auto found = std::ranges::find_if(embedded_banks(), is_it);
  experiment.declaration = found == embedded_banks().end() ? kKeptDeclaration : std::string(found->name);
  const Tagger* tagger = bank.annotator().tagger();
  const bool is_english = tagger != nullptr && tagger->bytes() == Tagger::english()->bytes();
  experiment.tagger = tagger == nullptr ? "none" : is_english ? "english" : kKeptTagger;
}

// What a model is does not change by going on from it; and its files are read as before, where nothing else is said.
Experiment with_initial_model(Experiment experiment) {
  // Features that nothing reads are no part of the model.
  if (!experiment.model.fusion && experiment.features.bank == FeatureSet::natural) {
    experiment.features.bank = FeatureSet::none;
  }
  if (experiment.init.empty()) return experiment;
  experiment.init = std::filesystem::absolute(experiment.init).lexically_normal().string();
  const Checkpoint init = load_checkpoint(experiment.init);
  if (ModelAccess::pretrained(init.model) != nullptr) {
    throw Error(
        fmt::format("{}: is an imported model or an adapter of one, which training does not go on from; give "
                    "it knobs with `semfuse adapt`",
                    experiment.init));
  }
  experiment.model = init.model.options();
  experiment.features = init.model.feature_bank().options();
  const NaturalBank* natural = FeatureBankAccess::natural(init.model.feature_bank());
  if (natural != nullptr) name_sources(*natural, experiment);
  const std::optional<Experiment> before = init.find_experiment();
  const auto& vectors = FeatureBankAccess::vectors(init.model.feature_bank());
  experiment.vectors = !vectors ? "none" : before ? before->vectors : "data";
  if (vectors) experiment.vector_width = vectors->width();
  DataOptions& data = experiment.data;
  if (before && is_builtin_lexicon(experiment.lexicon)) {
    experiment.lexicon = before->lexicon;
    std::error_code ignored;
    if (const std::filesystem::path kept = RunFiles{experiment.init}.lexicon(); !is_builtin_lexicon(before->lexicon)) {
      // Beside a model without its run there is none.
      experiment.lexicon = std::filesystem::exists(kept, ignored) ? kept.string() : Experiment{}.lexicon;
    }
  }
  if (before && data.kind == DataKind::files && data.format.empty() && data.heading.empty()) {
    data.format = before->data.format;
    data.heading = before->data.heading;
    if (data.text.empty()) data.text = before->data.text;
  }
  return experiment;
}

// What a run needs besides its data, so that it can go on when these files are gone.
RunFolder::KeptFiles kept_files(const Experiment& experiment, const LanguageModel& model) {
  RunFolder::KeptFiles files;
  const NaturalBank* natural = FeatureBankAccess::natural(model.feature_bank());
  for (const FeatureSource& source : feature_sources()) {
    if (!source.is_file(experiment)) continue;
    if (experiment.init.empty() || source.name == &Experiment::lexicon) {
      files[source.kept_as] = read_text(experiment.*source.name);
    } else {
      const bool is_declaration = source.name == &Experiment::declaration;
      files[source.kept_as] = is_declaration ? natural->declaration().text : natural->annotator().tagger()->bytes();
    }
  }
  if (experiment.init.empty()) return files;
  const std::filesystem::path init = experiment.init;
  std::error_code ignored;
  files[RunFiles::kInitialModel] =
      read_text(std::filesystem::is_directory(init, ignored) ? RunFiles{init}.model() : init);
  return files;
}

Assembly assembled(const Experiment& experiment, const TrainingRunOptions& options) {
  if (experiment.init.empty()) return assemble(experiment, options.threads, options.on_data);
  const Checkpoint init = load_checkpoint(experiment.init);
  return assemble(experiment, options.threads, options.on_data, &init.model);
}

std::shared_ptr<Exchange> exchange_of(const TrainingRunOptions& options) {
  return options.exchange ? options.exchange : std::make_shared<LocalExchange>();
}

// Files are prepared by one process; those on the same disk then find them.
Assembly assembled_after_first(const Experiment& experiment, const TrainingRunOptions& options) {
  const std::shared_ptr<Exchange> exchange = exchange_of(options);
  Assembly assembly = first_then_others(*exchange, [&] { return assembled(experiment, options); });
  assembly.trainer_options.exchange = options.exchange;
  return assembly;
}

// A process that writes nothing has nothing to check.
std::filesystem::path checked_folder(const std::filesystem::path& folder, const TrainingRunOptions& options) {
  const std::shared_ptr<Exchange> exchange = exchange_of(options);
  return first_then_others(*exchange, [&] { return exchange->rank() == 0 ? OutputFolder::checked(folder) : folder; });
}

}  // namespace

struct TrainingRun::State {
  // `wanted` is `kept` with a lexicon and the like that are there to be read.
  State(Experiment kept, const Experiment& wanted, std::filesystem::path folder, const TrainingRunOptions& run_options,
        bool is_resumed)
      : experiment(std::move(kept)),
        files{std::move(folder)},
        options(run_options),
        resumed(is_resumed),
        exchange(exchange_of(run_options)),
        assembly(assembled_after_first(wanted, run_options)),
        trainer(assembly.new_trainer()) {
    require_alike(*exchange, experiment, assembly.data.fingerprint);
    if (resumed) {
      first_then_others(*exchange, [&] {
        require_same_data();
        finished = writes() && is_finished(files, experiment, assembly.model, trainer);
        if (finished) tidy();
        return 0;
      });
      finished = largest(*exchange, finished ? 1 : 0) != 0;
      return;
    }
    experiment.data.fingerprint = assembly.data.fingerprint;
    warnings = assembly.data.notes;
    if (!is_builtin_lexicon(wanted.lexicon) && assembly.model.tokenizer() == nullptr) {
      warnings = lexicon_gaps(assembly.model, wanted.lexicon);
    }
    sources = kept_files(wanted, assembly.model);
  }

  void require_same_data() const {
    if (experiment.data.fingerprint == assembly.data.fingerprint) return;
    throw Error(
        fmt::format("{}: its files ({}) changed since it began; put them back, or train anew with `--config {}`",
                    files.folder.string(), fmt::join(experiment.data.train, ", "), files.config().string()));
  }

  // A run may have been killed between its last model and its last checkpoint. Whoever holds the folder tidies it.
  // Holding it writes the lock, so a folder that is in order is left alone.
  void tidy() const {
    if (temporary_files(files.folder).empty() && temporary_files(files.checkpoints()).empty()) return;
    try {
      const RunFolder opened(files.folder);
    } catch (const Error&) {
    }
  }

  bool writes() const { return exchange->rank() == 0; }

  // Once the callback said false, the run is to stop.
  void tell(const RunEvent& event) { go_on = (!on_event || on_event(event)) && go_on; }
  void warn(const std::string& text) { tell(RunWarning{text}); }

  std::unique_ptr<RunFolder> open_folder();
  RunOutcome lead();
  RunOutcome follow();
  void train(RunFolder& folder, Checkpoints& checkpoints);
  void recall(RunFolder& folder);
  StepReport step();
  void warn_of_idle(const StepReport& report);
  // What the process that writes does after a step or at the end, before all of them go on.
  void together(const std::function<void()>& work);
  void finish_outcome();
  void end_epoch(const StepReport& report, RunFolder& folder, RunLogWriter& log);

  Experiment experiment;  // As the folder has it.
  const RunFiles files;
  const TrainingRunOptions options;
  const bool resumed;
  const std::shared_ptr<Exchange> exchange;
  Assembly assembly;
  Trainer trainer;
  bool finished = false;              // Before run().
  std::vector<std::string> warnings;  // Of data and lexicon.
  std::string logged_set;             // The instruction set of the steps before; empty if none is known.
  RunFolder::KeptFiles sources;       // Of a new run with a lexicon of its own, or the like.

  CheckpointSettings settings;
  RunCallback on_event;
  bool go_on = true;
  RunOutcome outcome;
  std::uint64_t new_tokens = 0;  // Of the steps of this run().
  double waiting_seconds = 0.0;
  double training_seconds = 0.0;
};

std::unique_ptr<RunFolder> TrainingRun::State::open_folder() {
  if (!resumed) {
    settings = checkpoint_settings(options);
    return std::make_unique<RunFolder>(files.folder, experiment, settings, sources);
  }
  auto folder = std::make_unique<RunFolder>(files.folder);
  CheckpointStore store(files.checkpoints());
  const CheckpointSettings before = store.load_settings();
  settings = checkpoint_settings(options, before);
  if (settings != before) store.save_settings(settings);
  return folder;
}

// What the run did before it was stopped, as its log has it.
void TrainingRun::State::recall(RunFolder& folder) {
  folder.describe_model();
  const std::string log = folder.rewind_log(outcome.steps);
  RunHistory history;
  try {
    history = parse_run_log(log, files.log().string());
    if (history.steps.size() != outcome.steps) {
      warn(fmt::format("{}: has {} of the {} steps before; the others are missing from the log", files.log().string(),
                       history.steps.size(), outcome.steps));
    }
  } catch (const Error& error) {
    warn(error.what());
  }
  for (const LoggedStep& step : history.steps) outcome.tokens += step.num_tokens;
  outcome.evaluations = std::move(history.evaluations);
  logged_set = history.instruction_set;
  if (!logged_set.empty() && logged_set != instruction_set()) {
    warn(
        fmt::format("{}: the steps before ran with {}, this processor has {}; bits may differ from those of a run on "
                    "one kind of processor",
                    files.log().string(), logged_set, instruction_set()));
  }
}

void TrainingRun::State::train(RunFolder& folder, Checkpoints& checkpoints) {
  std::optional<RunLogWriter> opened;
  together([&] {
    if (resumed) recall(folder);
    opened.emplace(files.log());
    if (logged_set != instruction_set()) opened->add_start(outcome.steps, instruction_set());
    if (!folder.has_model()) folder.save(assembly.model, experiment, "the initial model");
  });
  RunLogWriter& log = *opened;
  while (!trainer.done() && go_on) {
    const double seconds_before = training_seconds;
    const StepReport report = step();
    const double seconds = training_seconds - seconds_before;
    together([&] {
      log.add(report, seconds);
      tell(RunStep{.report = report, .seconds = seconds});
      if (report.step == outcome.first_step + 1) warn_of_idle(report);
      if (report.ends_epoch) end_epoch(report, folder, log);
      if (const std::optional<std::string> failure = checkpoints.after_step(log)) warn(*failure);
    });
  }
  together([&] {
    log.flush();
    if (!trainer.done()) outcome.not_saved = checkpoints.save(log).value_or("");
  });
  outcome.saved_step = checkpoints.saved_step();
}

StepReport TrainingRun::State::step() {
  const auto begin = Clock::now();
  const double waited_before = exchange->seconds_waited();
  const StepReport report = trainer.step();
  const double seconds = seconds_since(begin);
  outcome.steps = report.step;
  outcome.tokens += report.num_tokens;
  new_tokens += report.num_tokens;
  training_seconds += seconds;
  waiting_seconds += exchange->seconds_waited() - waited_before;
  return report;
}

void TrainingRun::State::warn_of_idle(const StepReport& report) {
  if (report.num_leaves >= exchange->size()) return;
  warn(
      fmt::format("a batch has {} {} for {} processes, so some have nothing to do; train anew with `--set "
                  "training.grain={}` or less",
                  report.num_leaves, report.num_leaves == 1 ? "leaf" : "leaves", exchange->size(),
                  std::max<std::size_t>(1, report.num_tokens / exchange->size())));
}

void TrainingRun::State::together(const std::function<void()>& work) {
  go_on = all_go_on(*exchange, [&] {
    work();
    return go_on;
  });
}

void TrainingRun::State::end_epoch(const StepReport& report, RunFolder& folder, RunLogWriter& log) {
  const Evaluation evaluation = assembly.evaluate();
  const bool finite = std::isfinite(evaluation.perplexity);
  outcome.evaluations.push_back(logged(report, evaluation));
  log.add(outcome.evaluations.back());
  log.flush();
  try {
    if (finite) folder.save(assembly.model, experiment, fmt::format("the model after epoch {}", report.epoch));
    // Before the last checkpoint: should there be no room for that, the run is finished all the same.
    if (finite && trainer.done()) log.add_finished(report.step);
  } catch (const Error& error) {
    if (trainer.done() || folder.is_gone()) throw;
    warn(fmt::format("{}; training goes on and tries again after the next epoch", error.what()));
  }
  tell(RunEvaluation{.report = report, .evaluation = evaluation, .finite = finite});
}

TrainingRun::TrainingRun(std::unique_ptr<State> state) : state_(std::move(state)) {}

TrainingRun::TrainingRun(const Experiment& experiment, const std::filesystem::path& folder,
                         const TrainingRunOptions& options)
    : TrainingRun(new_state(with_initial_model(experiment), checked_folder(folder, options), options)) {}

std::unique_ptr<TrainingRun::State> TrainingRun::new_state(const Experiment& experiment,
                                                           const std::filesystem::path& folder,
                                                           const TrainingRunOptions& options) {
  return std::make_unique<State>(with_kept_sources(experiment), experiment, folder, options, false);
}

TrainingRun TrainingRun::resume(const std::filesystem::path& folder, const TrainingRunOptions& options) {
  const RunFiles files{RunFolder::existing(folder)};
  const Experiment wanted = load_experiment(files.config());
  Experiment kept = with_kept_sources(wanted);
  // A run of a time when the model that it went on from was not kept.
  if (!wanted.init.empty() && wanted.init != files.folder / RunFiles::kInitialModel) kept.init = wanted.init;
  // A run of a time when the lexicon was no part of the configuration.
  Experiment source = wanted;
  std::error_code ignored;
  if (is_builtin_lexicon(wanted.lexicon) && std::filesystem::exists(files.lexicon(), ignored)) {
    source.lexicon = files.lexicon().string();
  }
  return TrainingRun(std::make_unique<State>(std::move(kept), source, files.folder, options, true));
}

TrainingRun::TrainingRun(TrainingRun&&) noexcept = default;
TrainingRun::~TrainingRun() = default;

const std::filesystem::path& TrainingRun::folder() const {
  return state_->files.folder;
}
std::filesystem::path TrainingRun::model_path() const {
  return state_->files.model();
}
const Experiment& TrainingRun::experiment() const {
  return state_->experiment;
}
const LanguageModel& TrainingRun::model() const {
  return state_->assembly.model;
}
std::uint64_t TrainingRun::total_steps() const {
  return state_->trainer.total_steps();
}
const ExperimentData& TrainingRun::data() const {
  return state_->assembly.data;
}
std::size_t TrainingRun::num_texts() const {
  return state_->assembly.data.num_train();
}
bool TrainingRun::finished() const {
  return state_->finished;
}

bool TrainingRun::calibrates() const {
  if (state_->options.calibrate) return *state_->options.calibrate;
  return !state_->resumed || CheckpointStore(state_->files.checkpoints()).load_settings().calibrate;
}

bool TrainingRun::writes() const {
  return state_->writes();
}

RunOutcome TrainingRun::run(const RunCallback& on_event) {
  state_->on_event = on_event;
  return state_->writes() ? state_->lead() : state_->follow();
}

void TrainingRun::State::finish_outcome() {
  outcome.finished = trainer.done();
  outcome.skipped = trainer.state().skipped;
  outcome.tokens_per_second = static_cast<double>(new_tokens) / std::max(training_seconds, 1e-9);
  outcome.processes = exchange->size();
  outcome.waiting_share = waiting_seconds / std::max(training_seconds, 1e-9);
}

// A process that writes nothing.
RunOutcome TrainingRun::State::follow() {
  require_first(*exchange, true);
  share_state(*exchange, assembly.model, trainer);
  outcome.first_step = outcome.steps = trainer.state().step;
  together([] {});  // Until rank 0 is ready.
  while (!trainer.done() && go_on) {
    const StepReport report = step();
    together([&] { tell(RunStep{.report = report, .seconds = 0.0}); });
  }
  together([] {});  // Until the last checkpoint is saved.
  finish_outcome();
  return outcome;
}

RunOutcome TrainingRun::State::lead() {
  std::unique_ptr<RunFolder> folder;
  std::optional<Checkpoints> checkpoints;
  std::vector<std::string> damaged;
  std::string where;
  first_then_others(*exchange, [&] {
    folder = open_folder();
    checkpoints.emplace(*folder, settings, experiment, assembly.model, trainer);
    if (resumed) where = checkpoints->resume(damaged);
    return 0;
  });
  share_state(*exchange, assembly.model, trainer);
  outcome.first_step = outcome.steps = trainer.state().step;
  try {
    tell(RunStarted{.first_step = outcome.first_step,
                    .total_steps = trainer.total_steps(),
                    .total_epochs = trainer.total_epochs(),
                    .resumed = where});
    for (const std::string& text : damaged) warn(text);
    for (const std::string& text : warnings) warn(text);
    for (const Knob& knob : assembly.model.options().knobs) {
      for (const std::string& gap : support_gaps(knob, assembly.model.knob_support()))
        warn(fmt::format("knob {}: {}, so nothing there can be asked for", knob.name, gap));
    }
    train(*folder, *checkpoints);
  } catch (const std::bad_alloc&) {
    throw Error(fmt::format("not enough memory for training this model; {}", folder->holds()));
  } catch (const LostProcess& error) {
    throw LostProcess(fmt::format("{}; {}", error.what(), folder->holds()));
  } catch (const Error& error) {
    throw Error(fmt::format("{}; {}", error.what(), folder->holds()));
  }
  finish_outcome();
  outcome.model = folder->holds();
  return outcome;
}

}  // namespace semfuse
