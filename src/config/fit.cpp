#include "config/fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/feature_sources.h"
#include "config/keys.h"
#include "semfuse/synthetic_corpus.h"
#include "semfuse/vocabulary.h"
#include "training/training_step.h"

namespace semfuse {
namespace {

// Four blocks of this size, as training keeps them, are 32 GiB; the largest step takes as much again.
constexpr double kMaxParameters = 2147483648.0;
constexpr double kMaxStepNumbers = 4.0 * kMaxParameters;
constexpr double kBytesPerGiB = 1024.0 * 1024.0 * 1024.0;

// Tokens of a sentence with one and with two clauses, <bos> and <eos> included.
constexpr std::size_t kOneClauseLength = 10;
constexpr std::size_t kTwoClauseLength = 18;

// Near enough for a limit, and in floating point, where no product overflows.
double num_parameters(const Experiment& experiment) {
  const ModelOptions& model = experiment.model;
  const auto width = static_cast<double>(model.width);
  const auto inner = static_cast<double>(model.feed_forward);
  const auto head = static_cast<double>(model.feature_head);
  const auto vocab_size = static_cast<double>(vocab_size_of(experiment));
  const double layer = width * (4.0 * width + 2.0 * inner + 9.0) + inner;
  const double vectors =
      vector_source(experiment) == VectorSource::none ? 0.0 : 2.0 * static_cast<double>(experiment.vector_width);
  const double fusion = model.fusion ? width * (2.0 * width + head + 32.0 + vectors) + 32.0 * head : 0.0;
  return vocab_size * width + static_cast<double>(model.layers) * layer + fusion;
}

double num_step_numbers(const Experiment& experiment) {
  const ModelOptions& model = experiment.model;
  const bool files = experiment.data.kind == DataKind::files;
  const auto length = static_cast<double>(files ? experiment.data.max_length : experiment.corpus.max_length);
  // A step works through its batch in chunks.
  const auto sentences = static_cast<double>(files ? experiment.training.batch
                                                   : std::min(experiment.training.batch, experiment.corpus.train));
  const double num_tokens =
      std::min(sentences * length, static_cast<double>(TrainingStep::chunk_tokens(
                                       files ? experiment.data.max_length : experiment.corpus.max_length)) +
                                       length);
  const double per_token = 10.0 * static_cast<double>(model.width) + 3.0 * static_cast<double>(model.feed_forward) +
                           static_cast<double>(model.heads) * length;
  return num_tokens * static_cast<double>(model.layers) * per_token;
}

// What a model of the synthetic corpus knows of words, no model of other texts can.
std::optional<Misfit> find_files_misfit(const Experiment& experiment) {
  const ModelOptions& model = experiment.model;
  if (experiment.features.bank != FeatureSet::none && experiment.features.bank != FeatureSet::natural) {
    return Misfit{{"features.bank", "data.kind"},
                  fmt::format("features.bank is \"{}\", which is for the synthetic corpus; set it to \"natural\" or "
                              "\"none\", or take the preset text",
                              to_string(experiment.features.bank))};
  }
  const bool has_vectors = vector_source(experiment) != VectorSource::none;
  if (has_vectors && (!model.fusion || experiment.text.tokenizer != TokenizerKind::words)) {
    return Misfit{{"features.vectors", "model.fusion", "text.tokenizer"},
                  "features.vectors needs model.fusion and tokens that are words; set text.tokenizer to \"words\" and "
                  "model.fusion to true, or features.vectors to \"none\""};
  }
  if (experiment.features.bank == FeatureSet::none &&
      (((model.output_features || model.open_vocabulary) && !has_vectors) || experiment.features.learn_kernel)) {
    return Misfit{{"model.output_features", "model.open_vocabulary", "features.learn_kernel"},
                  "model.output_features, model.open_vocabulary and features.learn_kernel need features, which "
                  "features.bank = \"none\" has not; set them to false, or take the preset text"};
  }
  if ((model.output_features || model.open_vocabulary) && experiment.text.tokenizer != TokenizerKind::words) {
    return Misfit{{"model.output_features", "model.open_vocabulary", "text.tokenizer"},
                  "model.output_features and model.open_vocabulary need tokens that are words; set text.tokenizer to "
                  "\"words\", or both to false"};
  }
  return std::nullopt;
}

// Features of natural text, of whatever corpus, and vectors.
std::optional<Misfit> find_natural_misfit(const Experiment& experiment) {
  if (experiment.features.bank != FeatureSet::natural && vector_source(experiment) == VectorSource::none)
    return std::nullopt;
  const auto refuse = [&](const char* key, const char* value) {
    return Misfit{{key, "features.bank"},
                  fmt::format("{0} is for the features of the synthetic corpus, and features.bank is \"{2}\"; set "
                              "{0} to {1}",
                              key, value, to_string(experiment.features.bank))};
  };
  if (experiment.features.learn_kernel) return refuse("features.learn_kernel", "false");
  if (experiment.model.share_class_mass) return refuse("model.share_class_mass", "false");
  if (experiment.training.polarity_jitter > 0.0) return refuse("training.polarity_jitter", "0");
  return std::nullopt;
}

// What is trained beside a backbone has fewer losses, and reads no vectors.
std::optional<Misfit> find_adapter_misfit(const Experiment& experiment) {
  if (experiment.adapter.backbone.empty()) return std::nullopt;
  const TrainingOptions& training = experiment.training;
  const auto refuse = [](const char* key, const char* value) {
    return Misfit{{key, "adapter.backbone"},
                  fmt::format("{0} is for models that are trained whole, and adapter.backbone names one that is not; "
                              "set {0} to {1}",
                              key, value)};
  };
  if (training.optimizer != OptimizerKind::adamw) return refuse("training.optimizer", "\"adamw\"");
  if (training.label_smoothing > 0.0) return refuse("training.label_smoothing", "0");
  if (training.class_loss > 0.0) return refuse("training.class_loss", "0");
  if (training.identity_dropout > 0.0) return refuse("training.identity_dropout", "0");
  if (vector_source(experiment) != VectorSource::none) return refuse("features.vectors", "\"none\"");
  if (!experiment.init.empty()) return refuse("init", "\"\"");
  return std::nullopt;
}

}  // namespace

std::size_t vocab_size_of(const Experiment& experiment) {
  if (experiment.data.kind == DataKind::synthetic) return synthetic_corpus_words().size() + Vocabulary::kEos + 1;
  return experiment.text.tokenizer == TokenizerKind::bytes ? Tokenizer::kSmallestSize : experiment.text.vocabulary;
}

std::optional<Misfit> find_misfit(const Experiment& experiment) {
  for (const Key& key : experiment_keys()) {
    if (const Complaint complaint = key.check(experiment)) {
      return Misfit{{key.full_name()}, key.full_name() + " " + *complaint};
    }
  }
  const ModelOptions& model = experiment.model;
  if (model.width % model.heads != 0) {
    return Misfit{{"model.heads", "model.width"},
                  fmt::format("model.width is {}, not a multiple of model.heads, {}; change one of them", model.width,
                              model.heads)};
  }
  if (model.distance_bias && model.attention != AttentionMask::causal) {
    return Misfit{{"model.distance_bias", "model.attention"},
                  "model.distance_bias needs causal attention; set model.attention to \"causal\", or "
                  "model.distance_bias to false"};
  }
  if (model.width % 2 != 0) {
    return Misfit{
        {"model.width"},
        fmt::format("model.width is {}; it must be even, since positions are pairs of sine and cosine", model.width)};
  }
  if (!model.fusion && (model.output_features || model.open_vocabulary)) {
    const char* key = model.output_features ? "model.output_features" : "model.open_vocabulary";
    return Misfit{{key, "model.fusion"},
                  fmt::format("{} needs model.fusion, which is false; set {} to false too, or take the preset "
                              "causal-baseline",
                              key, key)};
  }
  if (!model.fusion && !model.knobs.empty()) {
    return Misfit{{"model.knobs", "model.fusion"},
                  "model.knobs needs model.fusion, which is false; set model.knobs to [] too, or take the preset "
                  "causal-baseline"};
  }
  if (!model.fusion && experiment.features.learn_kernel) {
    return Misfit{{"features.learn_kernel", "model.fusion"},
                  "features.learn_kernel needs model.fusion, which is false; set features.learn_kernel to false too"};
  }
  if (experiment.data.kind == DataKind::files) {
    if (std::optional<Misfit> misfit = find_files_misfit(experiment)) return misfit;
  }
  if (experiment.data.kind == DataKind::synthetic && vector_source(experiment) != VectorSource::none) {
    return Misfit{{"features.vectors", "data.kind"},
                  "features.vectors is for texts of one's own, and data.kind is \"synthetic\"; set it to \"none\""};
  }
  if (std::optional<Misfit> misfit = find_natural_misfit(experiment)) return misfit;
  if (std::optional<Misfit> misfit = find_adapter_misfit(experiment)) return misfit;
  const CorpusOptions& corpus = experiment.corpus;
  const std::size_t longest = corpus.second_clause > 0.0 ? kTwoClauseLength : kOneClauseLength;
  if (experiment.data.kind == DataKind::synthetic && corpus.max_length < longest) {
    return Misfit{{"corpus.max_length", "corpus.second_clause"},
                  fmt::format("corpus.max_length is {}, but the corpus has sentences of {} tokens; raise it to {}",
                              corpus.max_length, longest, longest)};
  }
  if (const double parameters = num_parameters(experiment); parameters > kMaxParameters) {
    return Misfit{
        {"model.width", "model.layers", "model.feed_forward", "model.feature_head"},
        fmt::format("model.width {}, model.layers {} and model.feed_forward {} make {:.3g} parameters, more than "
                    "2^31; make the model smaller",
                    model.width, model.layers, model.feed_forward, parameters)};
  }
  if (const double numbers = num_step_numbers(experiment); numbers > kMaxStepNumbers) {
    return Misfit{
        {"training.batch", "corpus.max_length", "model.width", "model.layers", "model.heads"},
        fmt::format("training.batch {} with corpus.max_length {} could need {:.3g} GiB for one step; make the "
                    "batch or the model smaller",
                    experiment.training.batch, corpus.max_length, numbers * 4.0 / kBytesPerGiB)};
  }
  return std::nullopt;
}

}  // namespace semfuse
