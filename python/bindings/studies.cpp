// What commands measure of a run and make of it: evaluations, sweeps, audits, imports, exports, words that are added.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include "backbone/model_import.h"
#include "bindings.h"
#include "evaluation/knob_sweep.h"
#include "io/output_folder.h"
#include "model_handle.h"
#include "report/knob_report.h"
#include "run/exported_model.h"
#include "run/word_addition.h"
#include "semfuse/error.h"
#include "study/corpus_evaluation.h"
#include "study/run_audit.h"
#include "study/text_evaluation.h"

namespace semfuse::python {
namespace nb = nanobind;

namespace {

// What a signal handler of Python raised, if it did. Takes the GIL.
bool signals_are_quiet(std::optional<nb::python_error>& raised) {
  const nb::gil_scoped_acquire acquired;
  if (PyErr_CheckSignals() == 0) return true;
  raised.emplace();
  return false;
}

// As `semfuse sweep --json` prints it.
std::string sweep(const ModelHandle& model, const std::vector<std::string>& names, std::size_t levels, std::size_t n,
                  std::uint64_t seed, double guidance, bool calibrated, double temperature, std::size_t top_k,
                  double top_p, bool combinations, std::size_t threads) {
  SweepOptions options{.levels = levels,
                       .n = n,
                       .seed = seed,
                       .guidance = guidance,
                       .calibrated = calibrated,
                       .sampling = {.temperature = temperature, .top_k = top_k, .top_p = top_p},
                       .combinations = combinations};
  if (levels < 2 || n < 1) throw Error("a sweep takes 2 levels or more, and a sentence or more a level");
  const std::vector<Knob>& knobs = model.model().options().knobs;
  const std::vector<std::string> swept = swept_knobs(knobs, names, model.checkpoint().origin);
  std::optional<nb::python_error> raised;
  std::optional<SweepResult> result;
  {
    const nb::gil_scoped_release released;
    SweepHooks hooks;
    hooks.go_on = [&](const SweepProgress&) { return signals_are_quiet(raised); };
    result = sweep_knobs(model.model(), swept, options, threads, hooks);
  }
  if (raised) throw std::move(*raised);
  return sweep_json(knobs, options, result.value());
}

nb::dict audit(const ModelHandle& model, std::size_t sentences, std::size_t threads) {
  model.model();  // Not in a fork.
  const Audit result = [&] {
    const nb::gil_scoped_release released;
    return audit_run(model.checkpoint(), sentences, threads);
  }();
  nb::dict dict;
  dict["attention"] = std::string(to_string(result.attention));
  dict["looks_ahead"] = looks_ahead(result);
  dict["max_logit_change"] = result.max_logit_change;
  dict["features_looking_ahead"] = result.features_looking_ahead;
  dict["sentences"] = result.num_sentences;
  dict["changes"] = result.num_changes;
  return dict;
}

// As `semfuse evaluate --json` prints it.
std::string evaluate_run(const ModelHandle& model, const std::vector<std::string>& data,
                         std::optional<std::string> text, std::optional<std::string> seed,
                         std::optional<std::string> sentences, bool against_ngram, std::size_t threads) {
  model.model();  // Not in a fork.
  const nb::gil_scoped_release released;
  const Checkpoint& checkpoint = model.checkpoint();
  const Experiment trained = checkpoint.experiment();
  if (trained.data.kind != DataKind::files) {
    if (!data.empty()) {
      throw Error(
          "data is for models that were trained on files; this one knows the words of the synthetic corpus only");
    }
    return to_json(evaluate_corpus(checkpoint, {.seed = std::move(seed),
                                                .sentences = std::move(sentences),
                                                .threads = threads,
                                                .against_ngram = against_ngram}))
        .dump();
  }
  if (seed || sentences) {
    throw Error("seed and sentences draw the synthetic corpus; this model was trained on files, use data");
  }
  TextEvaluationOptions options{.data = data, .table = {}, .threads = threads, .against_ngram = against_ngram};
  options.table.text = std::move(text);
  return to_json(checkpoint, evaluate_texts(checkpoint, trained, options)).dump();
}

void export_to(const ModelHandle& model, const std::filesystem::path& folder) {
  model.model();  // Not in a fork.
  const nb::gil_scoped_release released;
  export_model(folder, model.checkpoint());
}

void import_to(const std::filesystem::path& path, const std::filesystem::path& out,
               const std::filesystem::path& tokenizer, const std::string& quantize) {
  if (quantize != "none" && quantize != "q8" && quantize != "q4") {
    throw Error(fmt::format("quantize \"{}\": it is none, q8 or q4", quantize));
  }
  const nb::gil_scoped_release released;
  OutputFolder::checked(out);
  const ForeignModel model = open_foreign_model(path, tokenizer);
  check_tensors(model, path.string());
  const OutputFolder folder(out);
  import_model(model, folder.path(),
               quantize == "q8"   ? Quantisation::q8
               : quantize == "q4" ? Quantisation::q4
                                  : Quantisation::none);
}

nb::tuple add(const std::filesystem::path& run, const std::string& tsv, const std::filesystem::path& out) {
  const WordAddition added = [&] {
    const nb::gil_scoped_release released;
    return add_words(run, Lexicon::parse(tsv, "words").entries(), "words", out);
  }();
  return nb::make_tuple(added.num_added, added.vocab_size, added.doubts);
}

}  // namespace

void bind_studies(nb::module_& module) {
  module.def("sweep", &sweep, nb::arg("model"), nb::arg("knobs"), nb::arg("levels"), nb::arg("n"), nb::arg("seed"),
             nb::arg("guidance"), nb::arg("calibrated"), nb::arg("temperature"), nb::arg("top_k"), nb::arg("top_p"),
             nb::arg("combinations"), nb::arg("threads"));
  module.def("audit", &audit, nb::arg("model"), nb::arg("sentences"), nb::arg("threads"));
  module.def("evaluate", &evaluate_run, nb::arg("model"), nb::arg("data"), nb::arg("text").none(),
             nb::arg("seed").none(), nb::arg("sentences").none(), nb::arg("against_ngram"), nb::arg("threads"));
  module.def("import_model", &import_to, nb::arg("path"), nb::arg("out"), nb::arg("tokenizer"), nb::arg("quantize"));
  module.def("export_model", &export_to, nb::arg("model"), nb::arg("folder"));
  module.def("add_words", &add, nb::arg("run"), nb::arg("tsv"), nb::arg("out"));
}

}  // namespace semfuse::python
