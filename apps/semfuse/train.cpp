#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "command.h"
#include "interrupt.h"
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
  std::string out;
  bool quiet = false;
  bool json = false;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Experiment resolved_experiment(const Options& options) {
  Experiment experiment =
      options.config ? load_experiment(*options.config) : preset_experiment(options.preset.value_or(kDefaultPreset));
  apply_settings(experiment, options.settings);
  set_from_option(experiment, "--seed", "seed", options.seed);
  set_from_option(experiment, "--held-out", "corpus.held_out",
                  options.held_out == "none" ? std::optional<std::string>("[]") : options.held_out);
  validate(experiment);
  return experiment;
}

// Weights, gradients and two moments, and the weights packed forward and backward for training and for evaluation.
void require_memory_for(const Experiment& experiment, const Vocabulary& vocabulary, const FeatureBank& bank) {
  const Network network(experiment.model, vocabulary.size(), experiment.model.fusion ? bank.size() : 0);
  require_memory(8.0 * sizeof(float) * static_cast<double>(network.layout().block_size()), "this model",
                 "make the model smaller");
}

// JSON has no NaN and no infinity.
Json finite_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json evaluation_json(const StepReport& report, const Evaluation& evaluation) {
  return {{"epoch", report.epoch},
          {"step", report.step},
          {"attention", to_string(evaluation.attention)},
          {"perplexity", finite_or_null(evaluation.perplexity)},
          {"seen_only_perplexity", finite_or_null(evaluation.seen_only_perplexity)},
          {"feature_mse", finite_or_null(evaluation.feature_mse)}};
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
  return fmt::format(
      R"({{"event":"step","step":{},"epoch":{},"loss":{},"loss_tokens":{},"loss_features":{},"loss_uniformity":{},"loss_classes":{},)"
      R"("gradient_norm":{},"learning_rate":{},"tokens":{},"tokens_per_second":{:.1f}}})",
      report.step, report.epoch, report.loss, report.loss_tokens, report.loss_features, report.loss_uniformity,
      report.loss_classes, report.gradient_norm, report.learning_rate, report.num_tokens,
      static_cast<double>(report.num_tokens) / std::max(seconds, 1e-9));
}

// A run from the first step to the last, with what it has done so far.
class Run {
 public:
  explicit Run(const Options& options)
      : options_(options),
        terminal_(options.json ? stderr : stdout),
        experiment_(resolved_experiment(options)),
        threads_(parse_threads(options.threads)),
        path_(RunFolder::checked(options.out)) {}

  int operator()() {
    const SyntheticCorpusOptions corpus_options = synthetic_corpus_options(experiment_);
    Vocabulary vocabulary = Vocabulary::from_words(synthetic_corpus_words());
    FeatureBank bank(options_.lexicon ? Lexicon::load(*options_.lexicon) : Lexicon::synthetic(), experiment_.features);
    require_memory_for(experiment_, vocabulary, bank);
    const Corpus corpus = make_synthetic_corpus(corpus_options);
    LanguageModel model(experiment_.model, std::move(vocabulary), std::move(bank), experiment_.seed);
    Trainer trainer(model, corpus.train, experiment_.training,
                    {.seed = experiment_.seed, .threads = threads_, .max_length = experiment_.corpus.max_length});
    evaluation_options_ = {.held_out = corpus_options.held_out,
                           .count_end = experiment_.training.count_end,
                           .max_length = experiment_.corpus.max_length,
                           .threads = threads_};

    const InterruptGuard interrupt;
    RunFolder folder(path_, experiment_);
    Progress progress(terminal_, options_.quiet, experiment_.training.epochs, trainer.total_steps());
    try {
      RunLog log(folder.log_path());
      folder.save(model, experiment_, "the initial model");
      progress.line(heading(model, trainer));
      while (!trainer.done() && interrupt.signal() == 0) {
        const StepReport report = step(trainer, log, progress);
        if (report.ends_epoch) end_epoch(report, model, corpus.val, folder, log, progress);
      }
      log.flush();
    } catch (const std::bad_alloc&) {
      throw Error(fmt::format("not enough memory for training this model; {}", folder.holds()));
    } catch (const Error& error) {
      throw Error(fmt::format("{}; {}", error.what(), folder.holds()));
    }
    progress.clear();
    if (interrupt.signal() != 0 && !trainer.done()) {
      Terminal(stderr).print(fmt::format("semfuse: stopped at step {} of {}; {}\n", steps_, trainer.total_steps(),
                                         printable(folder.holds())));
      return 128 + interrupt.signal();
    }
    finish(model, folder, progress);
    return 0;
  }

 private:
  std::string heading(const LanguageModel& model, const Trainer& trainer) const {
    const std::string origin = options_.config ? *options_.config : options_.preset.value_or(kDefaultPreset);
    return fmt::format("{}: {} parameters, {} attention, {} sentences, {} steps; seed {}, {} threads",
                       printable(origin), with_separators(model.parameter_count()),
                       to_string(model.options().attention), with_separators(experiment_.corpus.train),
                       with_separators(trainer.total_steps()), experiment_.seed, thread_count(threads_));
  }

  StepReport step(Trainer& trainer, RunLog& log, Progress& progress) {
    const auto begin = Clock::now();
    const StepReport report = trainer.step();
    const double seconds = seconds_since(begin);
    steps_ = report.step;
    tokens_ += report.num_tokens;
    training_seconds_ += seconds;
    log.add(step_line(report, seconds));
    progress.step(report, seconds);
    return report;
  }

  void end_epoch(const StepReport& report, const LanguageModel& model, const std::vector<Sentence>& sentences,
                 RunFolder& folder, RunLog& log, Progress& progress) {
    const Evaluation evaluation = evaluate(model, sentences, evaluation_options_);
    Json object = evaluation_json(report, evaluation);
    Json event = {{"event", "evaluation"}};
    event.update(object);
    log.add(event.dump());
    log.flush();
    evaluations_.push_back(std::move(object));
    std::string text = evaluation_text(experiment_, report, evaluation);
    if (std::isfinite(evaluation.perplexity)) {
      folder.save(model, experiment_, fmt::format("the model after epoch {}", report.epoch));
    } else {
      text += "; not finite, so the model is not saved";
    }
    progress.line(text);
  }

  void finish(const LanguageModel& model, const RunFolder& folder, Progress& progress) const {
    const double rate = static_cast<double>(tokens_) / std::max(training_seconds_, 1e-9);
    progress.line(fmt::format("done in {} ({} tokens/s in training); {}", duration(seconds_since(begin_)),
                              with_separators(static_cast<std::uint64_t>(rate)), printable(folder.holds())));
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
  EvaluationOptions evaluation_options_;
  std::uint64_t steps_ = 0;
  std::uint64_t tokens_ = 0;
  double training_seconds_ = 0.0;
  Json evaluations_ = Json::array();
};

}  // namespace

Command train_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("train", "Train a model on the synthetic corpus");
  const auto options = std::make_shared<Options>();
  app->add_option("--out", options->out, "Folder for the run, made anew: model.safetensors, config.toml, log.jsonl")
      ->type_name("RUN")
      ->required();
  CLI::Option* preset = app->add_option("--preset", options->preset,
                                        fmt::format("A built-in experiment: {} (default: {})",
                                                    fmt::join(preset_names(), ", "), kDefaultPreset))
                            ->type_name("NAME");
  app->add_option("--config", options->config, "An experiment as a TOML file, such as the config.toml of a run")
      ->type_name("FILE")
      ->excludes(preset);
  app->add_option("--set", options->settings, "Change one setting; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app->add_option("--seed", options->seed, "Decides corpus, first weights, order and dropout")->type_name("N");
  app->add_option("--held-out", options->held_out,
                  "Words never drawn in training: a comma list, `random` (three adjectives per polarity, by the seed), "
                  "`random-classes` (a subject, a verb, an object, an adjective per polarity) or `none`")
      ->type_name("LIST");
  app->add_option("--lexicon", options->lexicon,
                  "What words mean, as a TSV file (default: the built-in lexicons/synthetic.tsv); the model keeps it")
      ->type_name("FILE");
  app->add_option("--threads", options->threads,
                  "Threads to compute with; the result is the same for any number (default: one for each processor)")
      ->type_name("N");
  app->add_flag("--quiet", options->quiet, "Show no progress");
  app->add_flag("--json", options->json, "Print one JSON object at the end; progress goes to standard error");
  app->footer(
      "Without --preset and --config the semfuse model is trained: causal, with an open vocabulary. Ctrl-C stops after "
      "the current step; the "
      "model of\n"
      "the last whole epoch stays in RUN/model.safetensors.\n\n"
      "Examples:\n"
      "  semfuse train --preset paper-fusion --out run\n"
      "  semfuse train --preset paper-baseline --set model.width=256 --set training.epochs=2 --seed 7 --out wide\n"
      "  semfuse train --config run/config.toml --out again\n");
  return {.app = app, .purpose = "training this model", .run = [options] { return Run(*options)(); }};
}

}  // namespace semfuse
