#include "study/arena_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "evaluation/knob_calibration.h"
#include "io/file.h"
#include "run/run_files.h"
#include "semfuse/assembly.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "semfuse/training_run.h"
#include "steering/label_shares.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kExpertSteps = 0.125;  // Of the model's own; more make experts forget how to write.
constexpr double kExpertRate = 0.25;
constexpr double kGuideSteps = 0.5;  // A guide never writes, so it may forget.
constexpr double kGuideRate = 0.5;
constexpr std::size_t kCalibrationTexts = 1000;
constexpr const char* kSecondsFile = "seconds";

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void require_going_on(bool go_on) {
  if (!go_on) throw Error("the arena was stopped");
}

}  // namespace

ArenaParts::ArenaParts(fs::path folder, const ArenaTexts& texts, const LinearJudge& judge_a, Experiment experiment,
                       std::uint64_t seed, std::size_t threads, Progress progress)
    : folder_(std::move(folder)),
      texts_(texts),
      judge_a_(judge_a),
      experiment_(std::move(experiment)),
      seed_(seed),
      threads_(threads),
      progress_(std::move(progress)) {
  Knob knob = texts.knob;
  knob.source = "label";
  experiment_.model.knobs = {knob};
  experiment_.seed = seed;
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  const fs::path kept = folder_ / "experiment.toml";
  const std::string wanted = to_toml(experiment_);
  if (!fs::exists(kept, ignored)) {
    write_atomically(kept, wanted);
  } else if (read_text(kept) != wanted) {
    throw Error(
        fmt::format("{}: has models that were trained with other settings; choose another --out", folder_.string()));
  }
}

Experiment ArenaParts::with_data(const std::string& file, std::optional<bool> positive) const {
  const fs::path path = folder_ / file;
  const fs::path test = folder_ / "test.jsonl";
  std::error_code ignored;
  if (!fs::exists(path, ignored)) write_arena_texts(path, texts_.model, positive);
  if (!fs::exists(test, ignored)) write_arena_texts(test, texts_.test);
  Experiment experiment = experiment_;
  experiment.data.kind = DataKind::files;
  experiment.data.train = {fs::absolute(path).string()};
  experiment.data.val = {fs::absolute(test).string()};
  experiment.data.text = "text";
  return experiment;
}

std::uint64_t ArenaParts::part_of_steps(double part) const {
  const TrainingOptions& training = experiment_.training;
  const double epoch = static_cast<double>(texts_.model.size()) / static_cast<double>(training.batch);
  const double steps =
      training.steps > 0 ? static_cast<double>(training.steps) : static_cast<double>(training.epochs) * epoch;
  return std::max<std::uint64_t>(10, static_cast<std::uint64_t>(part * steps));
}

ArenaParts::Model ArenaParts::trained(const std::string& name, const Experiment& experiment) {
  const fs::path folder = folder_ / name;
  const TrainingRunOptions options{.threads = threads_};
  const Clock::time_point begin = Clock::now();
  std::error_code ignored;
  TrainingRun run = fs::exists(RunFiles{folder}.config(), ignored) ? TrainingRun::resume(folder, options)
                                                                   : TrainingRun(experiment, folder, options);
  if (!run.finished()) {
    const auto total = static_cast<double>(std::max<std::uint64_t>(run.total_steps(), 1));
    const RunOutcome outcome = run.run([&](const RunEvent& event) {
      const auto* step = std::get_if<RunStep>(&event);
      return step == nullptr || progress_("training " + name, static_cast<double>(step->report.step) / total);
    });
    require_going_on(outcome.finished);
    // Of a run that was stopped, what came after.
    write_atomically(folder / kSecondsFile, fmt::format("{:.1f}\n", seconds_since(begin)));
  }
  if (fs::exists(folder / kSecondsFile, ignored)) seconds_[name] = std::stod(read_text(folder / kSecondsFile));
  return std::make_shared<const LanguageModel>(load_checkpoint(run.model_path()).model);
}

const ArenaParts::Model& ArenaParts::ctrl() {
  if (ctrl_) return ctrl_;
  Experiment experiment = with_data("model.jsonl", std::nullopt);
  experiment.training.knob_ends = 1.0;
  experiment.training.soft_labels = false;
  return ctrl_ = trained("ctrl", experiment);
}

const ArenaParts::Model& ArenaParts::semfuse() {
  if (semfuse_) return semfuse_;
  Experiment experiment = with_data("model.jsonl", std::nullopt);
  experiment.training.soft_labels = true;
  Model model = trained("semfuse", experiment);
  const Knob& knob = model->options().knobs.front();
  if (!model->calibration().contains(knob.name)) {
    const fs::path file = RunFiles{folder_ / "semfuse"}.model();
    Checkpoint checkpoint = load_checkpoint(file);
    checkpoint.model.set_heads({{knob.name, head(SteeringMethod::value, model)}});
    const Clock::time_point begin = Clock::now();
    const auto result =
        calibrate_knob(checkpoint.model, knob, &judge_a_,
                       {.n = kCalibrationTexts, .seed = seed_, .threads = threads_, .go_on = [&](double done) {
                          return progress_("calibrating " + knob.name, done);
                        }});
    require_going_on(result.has_value());
    checkpoint.model.set_calibration({{knob.name, result->map}});
    save_checkpoint(file, checkpoint.model, checkpoint.config);
    write_atomically(folder_ / "calibration.seconds", fmt::format("{:.1f}\n", seconds_since(begin)));
    model = std::make_shared<const LanguageModel>(std::move(checkpoint.model));
  }
  if (std::error_code ignored; fs::exists(folder_ / "calibration.seconds", ignored))
    seconds_["calibration"] = std::stod(read_text(folder_ / "calibration.seconds"));
  return semfuse_ = std::move(model);
}

const ArenaParts::Model& ArenaParts::guide() {
  if (guide_) return guide_;
  ctrl();
  Experiment experiment = with_data("model.jsonl", std::nullopt);
  experiment.init = (folder_ / "ctrl").string();
  experiment.training.knob_share = 1.0;
  experiment.training.knob_ends = 1.0;
  experiment.training.soft_labels = false;
  experiment.training.learning_rate *= kGuideRate;
  experiment.training.steps = part_of_steps(kGuideSteps);
  return guide_ = trained("guide", experiment);
}

const ArenaParts::Model& ArenaParts::expert(bool positive) {
  Model& model = positive ? expert_ : anti_;
  if (model) return model;
  ctrl();
  const std::string name = positive ? "expert" : "anti-expert";
  Experiment experiment = with_data(name + ".jsonl", positive);
  experiment.init = (folder_ / "ctrl").string();
  experiment.training.knob_share = 0.0;
  experiment.training.learning_rate *= kExpertRate;
  experiment.training.steps = part_of_steps(kExpertSteps);
  return model = trained(name, experiment);
}

const SteeringHead& ArenaParts::head(SteeringMethod method, const Model& of) {
  if (const auto found = heads_.find(method); found != heads_.end()) return found->second;
  const std::string name(to_string(method));
  const fs::path file = folder_ / (name + ".head");
  const fs::path time = folder_ / (name + ".seconds");
  std::error_code ignored;
  if (!fs::exists(file, ignored)) {
    const Clock::time_point begin = Clock::now();
    const Experiment experiment = with_data("model.jsonl", std::nullopt);
    const Knob& knob = experiment.model.knobs.front();
    const ExperimentData data = labelled_data(experiment.data, *of, knob, threads_, {});
    SteeringTraining training;
    training.seed = seed_;
    training.threads = threads_;
    training.judge = [this](std::span<const std::string> texts) { return judge_a_.judge(texts); };
    training.on_step = [&](std::uint64_t step, std::uint64_t steps, double) {
      return progress_("training the head of " + name, static_cast<double>(step) / static_cast<double>(steps));
    };
    const SteeringHead head = train_steering(*of, *data.train, label_shares(*data.train), method, knob.name, training);
    save_steering(file, head);
    write_atomically(time, fmt::format("{:.1f}\n", seconds_since(begin)));
  }
  if (fs::exists(time, ignored)) seconds_[name] = std::stod(read_text(time));
  return heads_.emplace(method, load_steering(file)).first->second;
}

double ArenaParts::seconds(const std::string& part) const {
  const auto found = seconds_.find(part);
  return found == seconds_.end() ? 0.0 : found->second;
}

}  // namespace semfuse
