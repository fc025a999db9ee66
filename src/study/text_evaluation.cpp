#include "study/text_evaluation.h"

#include "data/builtin_corpora.h"

namespace semfuse {
namespace {

Json to_json(const WordGroup& group) {
  return {{"words", group.num_words},
          {"positions", group.num_positions},
          {"cross_entropy", group.cross_entropy},
          {"unigram", group.unigram}};
}

Json to_json(const HeldOutEvaluation& result) {
  return {{"texts", result.num_texts},
          {"held_out", to_json(result.held_out)},
          {"matched", to_json(result.matched)},
          {"others", to_json(result.others)},
          {"after", to_json(result.after)}};
}

}  // namespace

TextEvaluation evaluate_texts(const Checkpoint& checkpoint, Experiment experiment,
                              const TextEvaluationOptions& options) {
  const Experiment trained = experiment;
  if (!options.data.empty()) {
    experiment.data.train.clear();
    experiment.data.val.clear();
    options.table.apply_to(experiment.data);
    for (const std::string& file : options.data) experiment.data.val.push_back(absolute_data_name(file));
  }
  TextEvaluation found{.data = validation_data(experiment, checkpoint.model, options.threads),
                       .result = {},
                       .ngram = {},
                       .held_out = {},
                       .notes = {}};
  const ExperimentData& data = found.data;
  if (options.data.empty() && data.fingerprint != experiment.data.fingerprint && !experiment.data.fingerprint.empty()) {
    found.notes.emplace_back(
        "the files changed since the model was trained on them, so some of these texts may be ones that it has seen");
  }
  found.notes.insert(found.notes.end(), data.notes.begin(), data.notes.end());
  const EvaluationOptions how{.held_out = {},
                              .count_end = experiment.training.count_end,
                              .threads = options.threads,
                              .on_progress = options.on_progress};
  found.result = evaluate(checkpoint.model, *data.val, how);
  if (options.against_ngram) {
    const auto training =
        options.data.empty() ? data.train : validation_data(trained, checkpoint.model, options.threads).train;
    found.ngram = compare_with_ngram(*training, *data.val, checkpoint.model.vocabulary().size(),
                                     experiment.training.count_end, options.on_counting);
  }
  if (options.data.empty() && data.held_out) {
    found.held_out = evaluate_held_out(checkpoint.model, *data.held_out, *data.train, experiment.data.held_out, how);
  }
  return found;
}

Json to_json(const Checkpoint& checkpoint, const TextEvaluation& evaluation) {
  const Evaluation& result = evaluation.result;
  const Dataset& texts = *evaluation.data.val;
  Json object = {{"attention", to_string(result.attention)},
                 {"texts", texts.size()},
                 {"positions", result.num_positions},
                 {"bytes", texts.num_bytes()},
                 {"ppl", result.perplexity},
                 {"bits_per_byte", result.bits_per_byte},
                 {"feature_mse", result.feature_mse},
                 {"floor_ppl", nullptr},
                 {"tokenizer", to_string(checkpoint.model.tokenizer()->kind())},
                 {"vocabulary", checkpoint.model.vocabulary().size()},
                 {"parameters", checkpoint.model.parameter_count()}};
  if (evaluation.ngram) object["ngram"] = to_json(*evaluation.ngram, result);
  if (evaluation.held_out) object["held_out"] = to_json(*evaluation.held_out);
  return object;
}

}  // namespace semfuse
