#include "semfuse/training_run.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>

#include "bindings.h"
#include "config/training_request.h"
#include "fork_guard.h"
#include "run/label_calibration.h"
#include "text.h"

namespace semfuse::python {
namespace nb = nanobind;

namespace {

// Whether Python has a signal to handle; what its handler raises, KeyboardInterrupt as a rule, is kept for later: the
// run saves before it is raised. Also calls what Python code wants to be told.
class Listener {
 public:
  explicit Listener(nb::object callback) : callback_(std::move(callback)) {}

  // With the event as (kind, dict). False asks to stop. Takes the GIL.
  template <class MakeEvent>
  bool tell(const char* kind, const MakeEvent& event) {
    const nb::gil_scoped_acquire acquired;
    if (raised_) return false;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (callback_.is_none()) return true;
      const nb::object answer = callback_(kind, event());
      if (answer.is(nb::handle(Py_False))) stopped_ = true;
      return !stopped_;
    } catch (nb::python_error& error) {
      raised_.emplace(std::move(error));
      return false;
    }
  }

  // With the GIL.
  void raise_if_any() {
    if (raised_) throw std::move(*raised_);
  }

 private:
  nb::object callback_;
  std::optional<nb::python_error> raised_;
  bool stopped_ = false;
};

nb::dict step_event(const RunStep& step) {
  nb::dict event;
  event["step"] = step.report.step;
  event["epoch"] = step.report.epoch;
  event["loss"] = step.report.loss;
  event["loss_tokens"] = step.report.loss_tokens;
  event["gradient_norm"] = step.report.gradient_norm;
  event["learning_rate"] = step.report.learning_rate;
  event["tokens"] = step.report.num_tokens;
  event["skipped"] = step.report.skipped;
  event["seconds"] = step.seconds;
  return event;
}

nb::dict evaluation_event(const RunEvaluation& evaluation) {
  nb::dict event;
  event["step"] = evaluation.report.step;
  event["epoch"] = evaluation.report.epoch;
  event["ppl"] = evaluation.evaluation.perplexity;
  event["bits_per_byte"] = evaluation.evaluation.bits_per_byte;
  event["seen_only_ppl"] = evaluation.evaluation.seen_only_perplexity;
  event["feature_mse"] = evaluation.evaluation.feature_mse;
  return event;
}

nb::dict one(const char* key, nb::object value) {
  nb::dict event;
  event[key] = std::move(value);
  return event;
}

bool tell(Listener& listener, const RunEvent& event) {
  if (const auto* started = std::get_if<RunStarted>(&event)) {
    return listener.tell("started", [&] {
      nb::dict dict;
      dict["first_step"] = started->first_step;
      dict["total_steps"] = started->total_steps;
      dict["total_epochs"] = started->total_epochs;
      dict["resumed"] = started->resumed;
      return dict;
    });
  }
  if (const auto* step = std::get_if<RunStep>(&event)) return listener.tell("step", [&] { return step_event(*step); });
  if (const auto* evaluation = std::get_if<RunEvaluation>(&event)) {
    return listener.tell("evaluation", [&] { return evaluation_event(*evaluation); });
  }
  return listener.tell("warning", [&] { return one("text", as_text(std::get<RunWarning>(event).text)); });
}

nb::dict outcome_dict(const TrainingRun& run, const RunOutcome& outcome) {
  nb::dict dict;
  dict["run"] = run.folder().string();
  dict["finished"] = outcome.finished;
  dict["first_step"] = outcome.first_step;
  dict["steps"] = outcome.steps;
  dict["skipped"] = outcome.skipped;
  dict["tokens"] = outcome.tokens;
  dict["tokens_per_second"] = outcome.tokens_per_second;
  nb::list evaluations;
  for (const LoggedEvaluation& each : outcome.evaluations) {
    nb::dict row;
    row["step"] = each.step;
    row["epoch"] = each.epoch;
    row["attention"] = each.attention;
    row["ppl"] = each.perplexity;
    row["seen_only_ppl"] = each.seen_only_perplexity;
    row["feature_mse"] = each.feature_mse;
    evaluations.append(row);
  }
  dict["evaluations"] = evaluations;
  dict["model"] = outcome.model;
  return dict;
}

// Trains, then calibrates knobs of labels if it is asked to. What a signal or the callback raised is raised at the end.
nb::dict run_to_end(TrainingRun& run, Listener& listener, bool calibrate, std::size_t threads) {
  RunOutcome outcome;
  {
    const nb::gil_scoped_release released;
    outcome = run.run([&](const RunEvent& event) { return tell(listener, event); });
    if (outcome.finished && calibrate) {
      LabelCalibrationOptions options{.threads = threads};
      options.go_on = [&](const Knob& knob, double done) {
        return listener.tell("calibrating", [&] {
          nb::dict event;
          event["knob"] = knob.name;
          event["done"] = done;
          return event;
        });
      };
      options.on_note = [&](const std::string& note) {
        listener.tell("warning", [&] { return one("text", as_text(note)); });
      };
      calibrate_labels(run, options);
    }
  }
  listener.raise_if_any();
  return outcome_dict(run, outcome);
}

TrainingRunOptions run_options(Listener& listener, std::size_t threads, std::optional<std::uint64_t> checkpoint_every,
                               std::optional<std::uint64_t> keep) {
  return {.threads = threads, .checkpoint_every = checkpoint_every, .keep = keep, .on_data = [&](double done) {
            return listener.tell("preparing", [&] { return one("done", nb::float_(done)); });
          }};
}

// What a listener kept goes before the Error that stopping brought about.
template <class Make>
auto or_raise(Listener& listener, const Make& make) {
  try {
    const nb::gil_scoped_release released;
    return make();
  } catch (...) {
    listener.raise_if_any();
    throw;
  }
}

nb::dict train(const TrainingRequest& given, const std::filesystem::path& out, nb::object on_event, std::size_t threads,
               std::optional<std::uint64_t> checkpoint_every, std::optional<std::uint64_t> keep) {
  Listener listener(std::move(on_event));
  TrainingRequest request = given;
  request.on_note = [&](const std::string& note) {
    listener.tell("warning", [&] { return one("text", as_text(note)); });
  };
  TrainingRun run = or_raise(listener, [&] {
    return TrainingRun(resolve(request), out, run_options(listener, threads, checkpoint_every, keep));
  });
  listener.raise_if_any();
  return run_to_end(run, listener, request.calibrate, threads);
}

nb::dict resume(const std::filesystem::path& folder, nb::object on_event, bool calibrate, std::size_t threads,
                std::optional<std::uint64_t> checkpoint_every, std::optional<std::uint64_t> keep) {
  Listener listener(std::move(on_event));
  TrainingRun run = or_raise(
      listener, [&] { return TrainingRun::resume(folder, run_options(listener, threads, checkpoint_every, keep)); });
  listener.raise_if_any();
  if (run.finished()) return outcome_dict(run, {.finished = true, .steps = run.total_steps()});
  return run_to_end(run, listener, calibrate, threads);
}

}  // namespace

void bind_training_run(nb::module_& module) {
  nb::class_<TrainingRequest>(module, "TrainingRequest", "What `semfuse train` is told.")
      .def(nb::init<>())
      .def_rw("preset", &TrainingRequest::preset, nb::arg("value").none())
      .def_rw("config", &TrainingRequest::config, nb::arg("value").none())
      .def_rw("settings", &TrainingRequest::settings)
      .def_rw("seed", &TrainingRequest::seed, nb::arg("value").none())
      .def_rw("held_out", &TrainingRequest::held_out, nb::arg("value").none())
      .def_rw("lexicon", &TrainingRequest::lexicon, nb::arg("value").none())
      .def_rw("data", &TrainingRequest::data)
      .def_rw("val", &TrainingRequest::val)
      .def_rw("init", &TrainingRequest::init, nb::arg("value").none())
      .def_rw("backbone", &TrainingRequest::backbone, nb::arg("value").none())
      .def_rw("rank", &TrainingRequest::rank, nb::arg("value").none())
      .def_rw("calibrate", &TrainingRequest::calibrate)
      .def_prop_rw(
          "text", [](const TrainingRequest& self) { return self.table.text; },
          [](TrainingRequest& self, std::optional<std::string> text) { self.table.text = std::move(text); },
          nb::for_setter(nb::arg("value").none()))
      .def_prop_rw(
          "skip_bad", [](const TrainingRequest& self) { return self.table.skip_bad; },
          [](TrainingRequest& self, bool skip) { self.table.skip_bad = skip; });
  module.def("train", &train, nb::arg("request"), nb::arg("out"), nb::arg("on_event").none(), nb::arg("threads"),
             nb::arg("checkpoint_every").none(), nb::arg("keep").none());
  module.def("resume", &resume, nb::arg("folder"), nb::arg("on_event").none(), nb::arg("calibrate"), nb::arg("threads"),
             nb::arg("checkpoint_every").none(), nb::arg("keep").none());
  module.def("preset_names", &preset_names);
}

}  // namespace semfuse::python
