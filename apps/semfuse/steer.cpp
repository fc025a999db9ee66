#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include "command.h"
#include "config/data_tables.h"
#include "data/builtin_corpora.h"
#include "interrupt.h"
#include "io/output_file.h"
#include "io/quoted_text.h"
#include "judge_option.h"
#include "run/run_judge.h"
#include "semfuse/assembly.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "semfuse/steering.h"
#include "settings.h"
#include "steering/label_shares.h"
#include "study_progress.h"
#include "table_options.h"
#include "terminal.h"
#include "text_evaluation.h"

namespace semfuse {
namespace {

struct SteerFlags {
  std::string run;
  std::string method = "value";
  std::string knob;
  std::vector<std::string> data;
  TableFlags table;
  std::string out;
  std::optional<std::string> steps;
  std::optional<std::string> batch;
  std::optional<std::string> learning_rate;
  std::optional<std::string> seed;
  std::optional<std::string> threads;
  std::optional<std::string> judge;
  std::optional<std::string> patience;
  bool quiet = false;
};

SteeringMethod method_of(const std::string& name) {
  for (const SteeringMethod method :
       {SteeringMethod::value, SteeringMethod::fudge, SteeringMethod::lm_steer, SteeringMethod::pplm}) {
    if (to_string(method) == name) return method;
  }
  throw Error(
      fmt::format("--method {}: is none that is trained; choose value, fudge, lm-steer or pplm", quoted_text(name)));
}

// One of the model's, or declared as in a configuration.
Knob knob_of(const std::string& text, const LanguageModel& model) {
  Knob knob;
  if (text.find(':') != std::string::npos) {
    knob = parse_knob(text);
  } else {
    const std::vector<Knob>& knobs = model.options().knobs;
    const auto found = std::ranges::find(knobs, text, &Knob::name);
    if (found == knobs.end()) {
      throw Error(fmt::format("--knob {}: is no knob of the model; declare it, as '{}: probability of column {}'",
                              quoted_text(text), text, text));
    }
    knob = *found;
  }
  if (knob.kind != KnobKind::probability) {
    throw Error(
        fmt::format("--knob {}: is a {}; heads are trained for a probability", knob.name, to_string(knob.kind)));
  }
  return knob;
}

// Who says what came of texts that the model writes under the head: the judge that is named, the run's own, or one that
// learns from the same labelled texts. Null: nobody can.
std::unique_ptr<Judge> find_judge(const SteerFlags& options, const DataOptions& files, const Knob& knob,
                                  const InterruptGuard& interrupt) {
  if (options.judge) return open_judge(*options.judge, options.patience, knob, interrupt);
  if (!knob.of_column) return nullptr;
  if (std::optional<LinearJudge> kept = find_run_judge(options.run, knob))
    return std::make_unique<LinearJudge>(std::move(*kept));
  const TrainedJudge trained = train_judge(read_labelled_texts(
      {files.train.begin(), files.train.end()},
      {.text_column = files.text, .columns = {}, .skip_bad = files.skip_bad, .table = table_options(files)}, knob, {}));
  const std::string doubts = judge_doubts(knob, trained.quality);
  if (doubts.empty()) return std::make_unique<LinearJudge>(trained.judge);
  notify(printable(fmt::format("the head learns from texts of people alone: {}; name a judge with --judge", doubts)));
  return nullptr;
}

int train(const SteerFlags& options) {
  constexpr std::uint64_t kMost = 1'000'000'000;
  if (options.out.empty()) throw Error("--out is empty; name a file");
  require_new_file(options.out);
  SteeringTraining training;
  training.steps = parse_whole_number("--steps", options.steps, 1, kMost).value_or(0);
  training.batch = parse_whole_number("--batch", options.batch, 1, 1'000'000).value_or(training.batch);
  training.learning_rate = parse_number("--learning-rate", options.learning_rate).value_or(training.learning_rate);
  training.seed = parse_whole_number("--seed", options.seed, 0, std::numeric_limits<std::int64_t>::max()).value_or(1);
  training.threads = parse_threads(options.threads);
  const SteeringMethod method = method_of(options.method);
  const Checkpoint checkpoint = load_checkpoint(options.run);
  const Knob knob = knob_of(options.knob, checkpoint.model);
  DataOptions files = checkpoint.find_experiment().value_or(Experiment{}).data;
  if (!options.data.empty()) {
    files.train.clear();
    for (const std::string& file : options.data) files.train.push_back(absolute_data_name(file));
  }
  options.table.apply_to(files);
  if (files.train.empty()) throw Error("the model does not say which texts it was trained on; name some with --data");
  const ExperimentData data =
      labelled_data(files, checkpoint.model, knob, training.threads, show_data_progress(options.quiet));
  for (const std::string& note : data.notes) notify(note);
  double loss = 0.0;
  StudyProgress progress(options.quiet);
  const InterruptGuard interrupt;
  std::unique_ptr<Judge> judge;
  if (method == SteeringMethod::value) {
    judge = find_judge(options, files, knob, interrupt);
  } else if (options.judge) {
    throw Error(fmt::format("--method {} does not read --judge; leave it out", to_string(method)));
  }
  if (judge) training.judge = [&](std::span<const std::string> texts) { return judge->judge(texts); };
  training.on_step = [&](std::uint64_t step, std::uint64_t steps, double of_step) {
    loss += (of_step - loss) / static_cast<double>(std::min<std::uint64_t>(step, 50));
    progress.show(fmt::format("step {} of {}, loss {:.4f}", step, steps, loss),
                  static_cast<double>(step) / static_cast<double>(steps));
    return interrupt.signal() == 0;
  };
  std::optional<SteeringHead> trained;
  try {
    trained = train_steering(checkpoint.model, *data.train, label_shares(*data.train), method, knob.name, training);
  } catch (const Error&) {
    if (interrupt.signal() == 0) throw;
    progress.clear();
    notify(printable(fmt::format("stopped; nothing is kept, and {} was not written", options.out)));
    return interrupt.exit_code();
  }
  const SteeringHead& head = *trained;
  progress.clear();
  save_steering(options.out, head);
  std::size_t parameters = 0;
  for (const SteeringHead::Tensor& tensor : head.tensors) parameters += tensor.values.size();
  const Terminal terminal(stdout);
  terminal.print(
      terminal.flowed(fmt::format("{}: {} for {}, {} parameters; mean label {:.3f}, loss of the last steps {:.4f}",
                                  printable(options.out), to_string(method), printable(knob.name),
                                  with_separators(parameters), head.share, loss)) +
      '\n');
  return 0;
}

}  // namespace

Command steer_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("steer", "Train heads that steer a model which stays as it is");
  app->require_subcommand();
  const auto options = std::make_shared<SteerFlags>();
  CommandLine* trains = app->add_subcommand("train", "Train a head on labelled texts");
  trains->add_option("RUN", options->run, "The model: a run folder or a .safetensors file")->required();
  trains
      ->add_option(
          "--method", options->method,
          "value: reads the model's state; fudge: a classifier of words; lm-steer: moves the state; pplm: moves "
          "what is remembered (value)")
      ->type_name("NAME");
  trains
      ->add_option("--knob", options->knob,
                   "A probability knob of the model, or a declaration: 'polarity: probability of column stars'")
      ->type_name("KNOB")
      ->required();
  trains->add_option("--data", options->data, "Labelled texts (default: those that the model was trained on)")
      ->type_name("FILE")
      ->several();
  options->table.add_to(*trains);
  options->table.add_skip_bad(*trains);
  trains->add_option("--out", options->out, "The head's file, made anew")->type_name("FILE")->required();
  trains->add_option("--steps", options->steps, "Steps of the training (four visits of each text, at most 2000)")
      ->type_name("N");
  trains->add_option("--batch", options->batch, "Texts a step (192)")->type_name("N");
  trains->add_option("--learning-rate", options->learning_rate, "At the first step; falls to 0 (0.004)")
      ->type_name("RATE");
  trains->add_option("--seed", options->seed, "Decides first weights and order of the texts (1)")->type_name("N");
  trains->add_option("--threads", options->threads, "The result is the same for any number (one for each processor)")
      ->type_name("N");
  trains
      ->add_option("--judge", options->judge,
                   "Who says what texts that the model writes under a value head came to: a judge's file, or a command "
                   "that reads a text a line and writes a probability a line (default: the run's own, or one that is "
                   "trained on the same texts)")
      ->type_name("JUDGE");
  trains->add_option("--judge-timeout", options->patience, "Seconds that a command may take at a time (600)")
      ->type_name("S");
  trains->add_flag("--quiet", options->quiet, "Show no progress");
  const char* examples =
      "Examples:\n"
      "  semfuse steer train model --knob polarity --data reviews.tsv --out polarity.head\n"
      "  semfuse generate model --n 5 --method value --head polarity.head --steer polarity=1 --strength 3\n";
  trains->footer(fmt::format("The head is for this model alone. It costs little beside the model.\n\n{}", examples));
  app->footer(examples);
  return {.app = app, .purpose = "this head", .run = [options] { return train(*options); }};
}

}  // namespace semfuse
