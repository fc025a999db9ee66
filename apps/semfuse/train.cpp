#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "checkpoints.h"
#include "command.h"
#include "experiment/run_log.h"
#include "interrupt.h"
#include "io/file.h"
#include "io/json.h"
#include "model/network.h"
#include "progress.h"
#include "run_folder.h"
#include "semfuse/error.h"
#include "semfuse/evaluation.h"
#include "settings.h"

namespace semfuse {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr const char* kDefaultPreset = "semfuse";

struct Options {
  std::optional<std::string> preset;
  std::optional<std::string> config;
  std::vector<std::string> settings;
  std::optional<std::string> seed;
  std::optional<std::string> held_out;
  std::optional<std::string> lexicon;
  std::optional<std::string> threads;
  std::optional<std::string> out;
  std::optional<std::string> resume;
  std::optional<std::string> checkpoint_every;
  std::optional<std::string> keep;
  bool quiet = false;
  bool json = false;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Experiment resolved_experiment(const Options& options) {
  if (options.resume) return load_experiment(RunFolder::existing(*options.resume) / "config.toml");
  if (!options.out) throw Error("--out is required, or --resume to go on with a run; see `semfuse train --help`");
  Experiment experiment =
      options.config ? load_experiment(*options.config) : preset_experiment(options.preset.value_or(kDefaultPreset));
  apply_settings(experiment, options.settings);
  set_from_option(experiment, "--seed", "seed", options.seed);
  set_from_option(experiment, "--held-out", "corpus.held_out",
                  options.held_out == "none" ? std::optional<std::string>("[]") : options.held_out);
  validate(experiment);
  return experiment;
}

// What the options say, and for the rest what `before` has.
CheckpointSettings checkpoint_settings(const Options& options, const CheckpointSettings& before = {}) {
  constexpr std::uint64_t kMost = 1'000'000'000;
  return {.every = parse_whole_number("--checkpoint-every", options.checkpoint_every, 1, kMost).value_or(before.every),
          .keep = parse_whole_number("--keep", options.keep, 1, kMost).value_or(before.keep)};
}

// Weights, gradients and two moments, and the weights packed forward and backward for training and for evaluation.
void require_memory_for(const Experiment& experiment, const Vocabulary& vocabulary, const FeatureBank& bank) {
  const Network network(experiment.model, vocabulary.size(), experiment.model.fusion ? bank.size() : 0);
  require_memory(8.0 * sizeof(float) * static_cast<double>(network.layout().block_size()), "this model",
                 "make the model smaller");
}

Json evaluation_json(const LoggedEvaluation& evaluation) {
  return {{"epoch", evaluation.epoch},
          {"step", evaluation.step},
          {"attention", evaluation.attention},
          {"perplexity", finite_or_null(evaluation.perplexity)},
          {"seen_only_perplexity", finite_or_null(evaluation.seen_only_perplexity)},
          {"feature_mse", finite_or_null(evaluation.feature_mse)}};
}

Json evaluation_json(const StepReport& report, const Evaluation& evaluation) {
  return evaluation_json({.step = report.step,
                          .epoch = report.epoch,
                          .attention = std::string(to_string(evaluation.attention)),
                          .perplexity = evaluation.perplexity,
                          .seen_only_perplexity = evaluation.seen_only_perplexity,
                          .feature_mse = evaluation.feature_mse});
}

std::string evaluation_text(const Experiment& experiment, const StepReport& report, const Evaluation& evaluation) {
  std::string text =
      fmt::format("epoch {}/{}  loss {:.4f}  validation perplexity {:.4f} ({} attention)", report.epoch,
                  experiment.training.epochs, report.loss, evaluation.perplexity, to_string(evaluation.attention));
  if (!std::isnan(evaluation.seen_only_perplexity))
    text += fmt::format(", seen-only {:.4f}", evaluation.seen_only_perplexity);
  if (!std::isnan(evaluation.feature_mse)) text += fmt::format(", feature MSE {:.5f}", evaluation.feature_mse);
  return text;
}

std::string step_line(const StepReport& report, double seconds) {
  if (report.skipped) {
    return fmt::format(R"({{"event":"skipped","step":{},"epoch":{},"not_finite":"{}","tokens":{}}})", report.step,
                       report.epoch, std::isfinite(report.loss) ? "gradient" : "loss", report.num_tokens);
  }
  return fmt::format(
      R"({{"event":"step","step":{},"epoch":{},"loss":{},"loss_tokens":{},"loss_features":{},"loss_uniformity":{},"loss_classes":{},)"
      R"("gradient_norm":{},"learning_rate":{},"tokens":{},"tokens_per_second":{:.1f}}})",
      report.step, report.epoch, report.loss, report.loss_tokens, report.loss_features, report.loss_uniformity,
      report.loss_classes, report.gradient_norm, report.learning_rate, report.num_tokens,
      static_cast<double>(report.num_tokens) / std::max(seconds, 1e-9));
}

// A run from its first step, or the one it was stopped at, to the last, with what it has done so far.
class Run {
 public:
  explicit Run(const Options& options)
      : options_(options),
        terminal_(options.json ? stderr : stdout),
        experiment_(resolved_experiment(options)),
        threads_(parse_threads(options.threads)),
        path_(options.resume ? RunFolder::existing(*options.resume) : RunFolder::checked(*options.out)) {}

  int operator()() {
    const SyntheticCorpusOptions corpus_options = synthetic_corpus_options(experiment_);
    Vocabulary vocabulary = Vocabulary::from_words(synthetic_corpus_words());
    FeatureBank bank(lexicon(), experiment_.features);
    require_memory_for(experiment_, vocabulary, bank);
    const Corpus corpus = make_synthetic_corpus(corpus_options);
    LanguageModel model(experiment_.model, std::move(vocabulary), std::move(bank), experiment_.seed);
    Trainer trainer(model, corpus.train, experiment_.training,
                    {.seed = experiment_.seed, .threads = threads_, .max_length = experiment_.corpus.max_length});
    evaluation_options_ = {.held_out = corpus_options.held_out,
                           .count_end = experiment_.training.count_end,
                           .max_length = experiment_.corpus.max_length,
                           .threads = threads_};

    if (options_.resume && is_finished(path_, experiment_, model, trainer)) {
      if (options_.json) {
        const Json object = {{"run", path_.string()}, {"steps", trainer.total_steps()}, {"resumed", false}};
        Terminal(stdout).print(object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
      }
      if (!options_.quiet)
        terminal_.print(fmt::format("{}: all {} steps are done, there is nothing to resume\n",
                                    printable(path_.string()), with_separators(trainer.total_steps())));
      return 0;
    }
    const InterruptGuard interrupt;
    const std::unique_ptr<RunFolder> folder = open_folder();
    Checkpoints checkpoints(*folder, settings_, experiment_, model, trainer);
    std::vector<std::string> damaged;
    const std::string beginning = options_.resume ? checkpoints.resume(damaged) : "";
    first_step_ = steps_ = trainer.state().step;
    Progress progress(terminal_, options_.quiet, experiment_.training.epochs, first_step_, trainer.total_steps());
    try {
      for (const std::string& sentence : damaged) warn(progress, sentence);
      if (options_.resume) recall(*folder, progress);
      RunLog log(folder->log_path());
      if (!folder->has_model()) folder->save(model, experiment_, "the initial model");
      progress.line(heading(model, trainer));
      if (!beginning.empty()) progress.line(fmt::format("{}: {}", printable(path_.string()), printable(beginning)));
      while (!trainer.done() && interrupt.signal() == 0) {
        const StepReport report = step(trainer, log, progress);
        if (report.ends_epoch) end_epoch(report, trainer, model, corpus.val, *folder, log, progress);
        checkpoints.after_step(log, progress);
      }
      log.flush();
      progress.clear();
      if (!trainer.done()) return stop(interrupt.signal(), trainer, *folder, checkpoints, log);
    } catch (const std::bad_alloc&) {
      throw Error(fmt::format("not enough memory for training this model; {}", folder->holds()));
    } catch (const Error& error) {
      throw Error(fmt::format("{}; {}", error.what(), folder->holds()));
    }
    finish(model, trainer, *folder, progress);
    return 0;
  }

 private:
  // A resumed run goes on with the lexicon that its folder keeps.
  Lexicon lexicon() const {
    if (options_.lexicon) return Lexicon::load(*options_.lexicon);
    const std::filesystem::path kept = RunFolder::lexicon_path(path_);
    std::error_code ignored;
    if (options_.resume && std::filesystem::exists(kept, ignored)) return Lexicon::load(kept);
    return Lexicon::synthetic();
  }

  std::string heading(const LanguageModel& model, const Trainer& trainer) const {
    std::string origin = options_.config ? *options_.config : options_.preset.value_or(kDefaultPreset);
    if (options_.resume) origin = (path_ / "config.toml").string();
    return fmt::format("{}: {} parameters, {} attention, {} sentences, {} steps; seed {}, {} threads",
                       printable(origin), with_separators(model.parameter_count()),
                       to_string(model.options().attention), with_separators(experiment_.corpus.train),
                       with_separators(trainer.total_steps()), experiment_.seed, thread_count(threads_));
  }

  std::unique_ptr<RunFolder> open_folder() {
    if (!options_.resume) {
      settings_ = checkpoint_settings(options_);
      return std::make_unique<RunFolder>(path_, experiment_, settings_,
                                         options_.lexicon ? read_text(*options_.lexicon) : std::string());
    }
    auto folder = std::make_unique<RunFolder>(path_);
    CheckpointStore store(folder->checkpoints_path());
    const CheckpointSettings before = store.load_settings();
    settings_ = checkpoint_settings(options_, before);
    if (settings_ != before) store.save_settings(settings_);
    return folder;
  }

  // What the run did before it was stopped, as its log has it.
  void recall(RunFolder& folder, Progress& progress) {
    folder.describe_model();
    const std::string log = folder.rewind_log(steps_);
    RunHistory history;
    try {
      history = parse_run_log(log, folder.log_path().string());
      if (history.steps.size() != steps_) {
        warn(progress, fmt::format("{}: has {} of the {} steps before; the others are missing from the log",
                                   folder.log_path().string(), history.steps.size(), steps_));
      }
    } catch (const Error& error) {
      warn(progress, error.what());
    }
    for (const LoggedStep& logged : history.steps) tokens_ += logged.num_tokens;
    for (const LoggedEvaluation& evaluation : history.evaluations) evaluations_.push_back(evaluation_json(evaluation));
  }

  // After a signal: saves, and says how to go on.
  int stop(int signal, const Trainer& trainer, const RunFolder& folder, Checkpoints& checkpoints, RunLog& log) const {
    std::string failure;
    if (const std::optional<std::string> what = checkpoints.save(log)) {
      failure = fmt::format("; {}, so going on begins at step {}", *what, checkpoints.saved_step());
    }
    Terminal(stderr).print(fmt::format("semfuse: stopped at step {} of {}; {}{}; go on with `{}`\n", steps_,
                                       trainer.total_steps(), printable(folder.holds()), printable(failure),
                                       printable(folder.resume_command())));
    return 128 + signal;
  }

  StepReport step(Trainer& trainer, RunLog& log, Progress& progress) {
    const auto begin = Clock::now();
    const StepReport report = trainer.step();
    const double seconds = seconds_since(begin);
    steps_ = report.step;
    tokens_ += report.num_tokens;
    new_tokens_ += report.num_tokens;
    training_seconds_ += seconds;
    log.add(step_line(report, seconds));
    progress.step(report, seconds);
    return report;
  }

  void end_epoch(const StepReport& report, const Trainer& trainer, const LanguageModel& model,
                 const std::vector<Sentence>& sentences, RunFolder& folder, RunLog& log, Progress& progress) {
    const Evaluation evaluation = evaluate(model, sentences, evaluation_options_);
    Json object = evaluation_json(report, evaluation);
    Json event = {{"event", "evaluation"}};
    event.update(object);
    log.add(event.dump());
    log.flush();
    evaluations_.push_back(std::move(object));
    std::string text = evaluation_text(experiment_, report, evaluation);
    try {
      if (std::isfinite(evaluation.perplexity)) {
        folder.save(model, experiment_, fmt::format("the model after epoch {}", report.epoch));
      } else {
        text += "; not finite, so the model is not saved";
      }
    } catch (const Error& error) {
      if (trainer.done() || folder.is_gone()) throw;
      warn(progress, fmt::format("{}; training goes on and tries again after the next epoch", error.what()));
    }
    progress.line(text);
  }

  void finish(const LanguageModel& model, const Trainer& trainer, const RunFolder& folder, Progress& progress) const {
    const double rate = static_cast<double>(new_tokens_) / std::max(training_seconds_, 1e-9);
    const std::uint64_t skipped = trainer.state().skipped;
    const std::string note =
        skipped == 0
            ? ""
            : fmt::format("; {} of {} steps were skipped, their loss or gradient was not finite", skipped, steps_);
    progress.line(fmt::format("done in {} ({} tokens/s in training){}; {}", duration(seconds_since(begin_)),
                              with_separators(static_cast<std::uint64_t>(rate)), note, printable(folder.holds())));
    if (!evaluations_.empty() && evaluations_.back()["perplexity"].is_null()) {
      throw Error(fmt::format("validation after the last step is not finite; try a lower training.learning_rate; {}",
                              folder.holds()));
    }
    if (!progress.failure().empty()) throw Error(fmt::format("{}; {}", progress.failure(), folder.holds()));
    if (!options_.json) return;
    const Json object = {{"run", path_.string()},
                         {"model", folder.model_path().string()},
                         {"seed", experiment_.seed},
                         {"parameters", model.parameter_count()},
                         {"attention", to_string(model.options().attention)},
                         {"steps", steps_},
                         {"first_step", first_step_},
                         {"skipped", skipped},
                         {"tokens", tokens_},
                         {"seconds", seconds_since(begin_)},
                         {"tokens_per_second", rate},
                         {"evaluations", evaluations_}};
    Terminal(stdout).print(object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
  }

  const Options& options_;
  Clock::time_point begin_ = Clock::now();
  Terminal terminal_;
  Experiment experiment_;
  std::size_t threads_;
  std::filesystem::path path_;
  CheckpointSettings settings_;
  EvaluationOptions evaluation_options_;
  std::uint64_t first_step_ = 0;  // Steps done before this process began.
  std::uint64_t steps_ = 0;
  std::uint64_t tokens_ = 0;
  std::uint64_t new_tokens_ = 0;  // Of the steps of this process.
  double training_seconds_ = 0.0;
  Json evaluations_ = Json::array();
};

}  // namespace

Command train_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("train", "Train a model on the synthetic corpus");
  const auto options = std::make_shared<Options>();
  CLI::Option* out =
      app->add_option("--out", options->out,
                      "Folder for the run, made anew: model.safetensors, config.toml, log.jsonl, checkpoints")
          ->type_name("RUN");
  CLI::Option* preset = app->add_option("--preset", options->preset,
                                        fmt::format("A built-in experiment: {} (default: {})",
                                                    fmt::join(preset_names(), ", "), kDefaultPreset))
                            ->type_name("NAME");
  CLI::Option* config =
      app->add_option("--config", options->config, "An experiment as a TOML file, such as the config.toml of a run")
          ->type_name("FILE")
          ->excludes(preset);
  CLI::Option* set = app->add_option("--set", options->settings, "Change one setting; may be repeated")
                         ->type_name("KEY=VALUE")
                         ->allow_extra_args(false);
  CLI::Option* seed =
      app->add_option("--seed", options->seed, "Decides corpus, first weights, order and dropout")->type_name("N");
  CLI::Option* held_out =
      app->add_option(
             "--held-out", options->held_out,
             "Words never drawn in training: a comma list, `random` (three adjectives per polarity, by the seed), "
             "`random-classes` (a subject, a verb, an object, an adjective per polarity) or `none`")
          ->type_name("LIST");
  CLI::Option* lexicon =
      app->add_option(
             "--lexicon", options->lexicon,
             "What words mean, as a TSV file (default: the built-in lexicons/synthetic.tsv); the model keeps it")
          ->type_name("FILE");
  CLI::Option* resume =
      app->add_option("--resume", options->resume,
                      "Go on with a run that was stopped, from its newest whole checkpoint; needs no other option")
          ->type_name("RUN");
  for (CLI::Option* other : {out, preset, config, set, seed, held_out, lexicon}) resume->excludes(other);
  app->add_option("--checkpoint-every", options->checkpoint_every,
                  fmt::format("Steps from one checkpoint to the next (default: {})", CheckpointSettings().every))
      ->type_name("N");
  app->add_option("--keep", options->keep,
                  fmt::format("Newest checkpoints to keep (default: {})", CheckpointSettings().keep))
      ->type_name("N");
  app->add_option("--threads", options->threads,
                  "Threads to compute with; the result is the same for any number (default: one for each processor)")
      ->type_name("N");
  app->add_flag("--quiet", options->quiet, "Show no progress");
  app->add_flag("--json", options->json, "Print one JSON object at the end; progress goes to standard error");
  app->footer(
      "Without --preset and --config the semfuse model is trained: causal, with an open vocabulary. Ctrl-C stops after "
      "the current step and "
      "saves a\n"
      "checkpoint; --resume goes on from it and ends with the same model, bit by bit. The model of the last whole "
      "epoch "
      "is\n"
      "in RUN/model.safetensors.\n\n"
      "Examples:\n"
      "  semfuse train --preset paper-fusion --out run\n"
      "  semfuse train --preset paper-baseline --set model.width=256 --set training.epochs=2 --seed 7 --out wide\n"
      "  semfuse train --config run/config.toml --out again\n"
      "  semfuse train --resume run\n");
  return {.app = app, .purpose = "training this model", .run = [options] { return Run(*options)(); }};
}

}  // namespace semfuse
