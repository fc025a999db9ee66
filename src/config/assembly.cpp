#include "semfuse/assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backbone/adapted_model.h"
#include "config/data_tables.h"
#include "config/feature_sources.h"
#include "config/memory_need.h"
#include "core/machine_memory.h"
#include "data/preparation.h"
#include "data/vector_preparation.h"
#include "features/feature_bank_access.h"
#include "features/text_labels.h"
#include "judge/soft_labels.h"
#include "model/model_access.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

// What knobs of words read, and feature rows, are the bank's.
PreparationOptions preparation_of(const Experiment& experiment, const FeatureBank& bank, std::size_t threads,
                                  const DataProgress& on_progress) {
  const DataOptions& data = experiment.data;
  PreparationOptions options = {.train = {data.train.begin(), data.train.end()},
                                .val = {data.val.begin(), data.val.end()},
                                .text_column = data.text,
                                .table = table_options(data),
                                .val_share = data.val_share,
                                .judge_share = data.judge_share,
                                .max_length = data.max_length,
                                .cut = data.longer == LongTexts::cut,
                                .skip_bad = data.skip_bad,
                                .tokenizer = experiment.text.tokenizer,
                                .vocabulary = experiment.text.vocabulary,
                                .leading_blank = experiment.text.leading_blank,
                                .given = std::nullopt,
                                .knobs = experiment.model.knobs,
                                .bank = &bank,
                                .feature_rows = experiment.model.fusion,
                                .held_out = data.held_out,
                                .threads = threads,
                                .on_progress = on_progress};
  const auto has_soft = [](const SoftColumns& columns) { return columns.count > 0; };
  if (experiment.training.soft_labels && std::ranges::any_of(soft_columns(options.knobs), has_soft)) {
    PreparationOptions source = options;
    options.soft_labels = [source = std::move(source)] { return cross_fitted_labels(source); };
  }
  return options;
}

// "12 of 3,400 texts are longer than data.max_length = 128, and were split".
std::vector<std::string> notes_of(const PreparationReport& report, const DataOptions& data) {
  std::vector<std::string> notes;
  const std::uint64_t texts =
      report.train_texts + report.val_texts + report.val_left_out + report.held_out_texts + report.judge_texts;
  if (report.long_texts > 0) {
    notes.push_back(fmt::format("{} of {} texts are longer than data.max_length = {} tokens and were {}",
                                report.long_texts, texts, data.max_length,
                                data.longer == LongTexts::cut ? "cut" : "split"));
  }
  if (report.held_out_texts > 0) {
    notes.push_back(
        fmt::format("{} of {} texts have held-out words and are only measured with", report.held_out_texts, texts));
  }
  if (report.judge_texts > 0) {
    notes.push_back(fmt::format("{} of {} texts are kept apart for judges (data.judge_share = {})", report.judge_texts,
                                texts, data.judge_share));
  }
  if (report.bad > 0) notes.push_back(fmt::format("{} rows at fault were left out", report.bad));
  if (report.val_left_out > 0) {
    notes.push_back(fmt::format("of the texts to measure with the first {} are used", report.val_texts));
  }
  return notes;
}

ExperimentData data_of(const PreparedData& prepared, const DataOptions& data) {
  return {.corpus = {},
          .train = prepared.train,
          .val = prepared.val,
          .held_out = prepared.held_out,
          .fingerprint = prepared.fingerprint,
          .notes = notes_of(prepared.report, data)};
}

// The vectors that the experiment names, of its training texts or of others.
std::shared_ptr<const WordVectors> vectors_of(const Experiment& experiment, const PreparationOptions& data) {
  switch (vector_source(experiment)) {
    case VectorSource::data:
      return prepare_vectors(data, experiment.vector_width);
    case VectorSource::file:
      return prepare_vectors({.train = {experiment.vectors}, .val_share = 0.0, .on_progress = data.on_progress},
                             experiment.vector_width);
    default:
      return nullptr;
  }
}

// Texts are read as the model reads them.
void give_tokens(const LanguageModel& model, PreparationOptions& options) {
  options.given = *model.tokenizer();
  if (ModelAccess::pretrained(model) != nullptr) options.given_vocabulary = model.vocabulary();
}

constexpr const char* kNoTokenizer =
    "the model has no tokenizer, so it reads no files; name a model that was trained on some";

void copy_weights(const LanguageModel& from, LanguageModel& to) {
  if (from.vocabulary().entries() != to.vocabulary().entries()) {
    throw Error("the model to go on from knows other words than these data have; name one that was trained on such");
  }
  for (const NamedParameter& parameter : from.parameters()) to.set_parameter(parameter.name, parameter.values);
}

// The adapter's first weights; what the backbone takes of memory is checked before.
LanguageModel new_adapted_model(const Experiment& experiment, const FeatureBank& bank) {
  const BackboneFile file = describe_backbone(experiment.adapter.backbone);
  constexpr double kBytesOfNumber = 8.0;  // FrozenMaps.
  LanguageModel model = adapted_model(file, experiment.model, bank, experiment.adapter.rank);
  const BackboneNetwork& network = *adapted_network(model);
  require_memory(kBytesOfNumber * static_cast<double>(network.backbone().parameter_count()), "training this adapter",
                 "take a smaller model");
  ModelAccess::change_weights(
      model, [&](ParameterBlock& weights) { weights = network.adapter()->initial_weights(experiment.seed); });
  return model;
}

// What a model with an adapter is trained on and measured with.
Assembly assemble_adapter(const Experiment& experiment, const FeatureBank& bank, std::size_t threads,
                          const DataProgress& on_progress) {
  if (experiment.data.kind != DataKind::files) {
    throw Error("adapter.backbone is for texts of one's own, and data.kind is \"synthetic\"; set it to \"files\"");
  }
  LanguageModel model = new_adapted_model(experiment, bank);
  PreparationOptions options = preparation_of(experiment, bank, threads, on_progress);
  give_tokens(model, options);
  const PreparedData prepared = prepare(options);
  const std::size_t max_length = experiment.data.max_length;
  return {.data = data_of(prepared, experiment.data),
          .model = std::move(model),
          .training = experiment.training,
          .trainer_options = {.seed = experiment.seed, .threads = threads, .max_length = max_length},
          .evaluation = {.held_out = {}, .count_end = false, .max_length = max_length, .threads = threads}};
}

}  // namespace

Trainer Assembly::new_trainer() {
  if (data.train) return Trainer(model, data.train, training, trainer_options);
  return Trainer(model, data.corpus.train, training, trainer_options);
}

Evaluation Assembly::evaluate() const {
  if (data.val) return semfuse::evaluate(model, *data.val, evaluation);
  return semfuse::evaluate(model, data.corpus.val, evaluation);
}

Assembly assemble(const Experiment& experiment, std::size_t threads, const DataProgress& on_progress,
                  const LanguageModel* init) {
  validate(experiment);
  require_memory(memory_need(experiment), "this training", "make the model or the corpus smaller");
  const FeatureBank bank = init != nullptr ? init->feature_bank() : make_feature_bank(experiment);
  const TextLabels checked_knobs(experiment.model.knobs, bank);  // Throws for shares of what is no feature.
  if (!experiment.adapter.backbone.empty()) return assemble_adapter(experiment, bank, threads, on_progress);
  if (experiment.data.kind == DataKind::files) {
    PreparationOptions options = preparation_of(experiment, bank, threads, on_progress);
    if (init != nullptr) {
      if (init->tokenizer() == nullptr) throw Error(kNoTokenizer);
      options.given = *init->tokenizer();
    }
    const PreparedData prepared = prepare(options);
    const std::size_t max_length = experiment.data.max_length;
    // A model that training goes on from has its vectors.
    const FeatureBank whole_bank =
        init != nullptr ? bank : FeatureBankAccess::with_vectors(bank, vectors_of(experiment, options));
    LanguageModel model(experiment.model, prepared.tokenizer, whole_bank, experiment.seed);
    if (init != nullptr) copy_weights(*init, model);
    return {
        .data = data_of(prepared, experiment.data),
        .model = std::move(model),
        .training = experiment.training,
        .trainer_options = {.seed = experiment.seed, .threads = threads, .max_length = max_length},
        .evaluation = {
            .held_out = {}, .count_end = experiment.training.count_end, .max_length = max_length, .threads = threads}};
  }
  SyntheticCorpusOptions corpus = synthetic_corpus_options(experiment);
  LanguageModel model(experiment.model, Vocabulary::from_words(synthetic_corpus_words()), bank, experiment.seed);
  if (init != nullptr) copy_weights(*init, model);
  return {.data = {.corpus = make_synthetic_corpus(corpus), .train = nullptr, .val = nullptr},
          .model = std::move(model),
          .training = experiment.training,
          .trainer_options = {.seed = experiment.seed, .threads = threads, .max_length = experiment.corpus.max_length},
          .evaluation = {.held_out = std::move(corpus.held_out),
                         .count_end = experiment.training.count_end,
                         .max_length = experiment.corpus.max_length,
                         .threads = threads}};
}

ExperimentData validation_data(const Experiment& experiment, const LanguageModel& model, std::size_t threads,
                               const DataProgress& on_progress) {
  if (experiment.data.kind == DataKind::synthetic) {
    SyntheticCorpusOptions corpus = synthetic_corpus_options(experiment);
    corpus.train = 0;
    return {.corpus = make_synthetic_corpus(corpus), .train = nullptr, .val = nullptr};
  }
  if (model.tokenizer() == nullptr) throw Error(kNoTokenizer);
  PreparationOptions options = preparation_of(experiment, model.feature_bank(), threads, on_progress);
  options.feature_rows = model.options().fusion;
  options.knobs = model.options().knobs;
  // A model that training went on from kept its tokenizer.
  if (options.train.empty() || !experiment.init.empty() || adapted_network(model) != nullptr)
    give_tokens(model, options);
  if (options.train.empty()) options.held_out.clear();  // Other texts are measured as they are,
  if (options.train.empty()) options.knobs.clear();     // Texts that the model is only measured on need no labels.
  PreparedData prepared = prepare(options);
  // Files that changed may make another tokenizer.
  if (prepared.tokenizer.to_json() != model.tokenizer()->to_json()) {
    give_tokens(model, options);
    prepared = prepare(options);
  }
  return data_of(prepared, experiment.data);
}

ExperimentData labelled_data(const DataOptions& data, const LanguageModel& model, const Knob& knob, std::size_t threads,
                             const DataProgress& on_progress) {
  if (model.tokenizer() == nullptr) throw Error(kNoTokenizer);
  Experiment experiment;
  experiment.data = data;
  experiment.data.val = data.train;  // Nothing is measured, so all texts are for training.
  experiment.data.held_out.clear();
  if (const PretrainedNetwork* network = ModelAccess::pretrained(model)) {  // <bos> is read and <eos> is not.
    experiment.data.max_length = std::min(experiment.data.max_length, network->context() + 1);
  }
  experiment.model = model.options();
  experiment.model.knobs = {knob};
  PreparationOptions options = preparation_of(experiment, model.feature_bank(), threads, on_progress);
  give_tokens(model, options);
  PreparedData prepared = prepare(options);
  prepared.report.val_left_out = 0;
  return data_of(prepared, experiment.data);
}

}  // namespace semfuse
