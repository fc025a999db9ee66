// A language model over the synthetic corpus that a twin can afford, and its sentences as a batch made by hand.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "batching/batch.h"
#include "model/model_access.h"
#include "semfuse/language_model.h"
#include "semfuse/synthetic_corpus.h"
#include "support/small_model.h"

namespace semfuse {

inline ModelOptions small_options(AttentionMask attention, bool fusion) {
  return {.width = 16,
          .layers = 2,
          .heads = 2,
          .feed_forward = 24,
          .attention = attention,
          .fusion = fusion,
          .feature_head = 20};
}

inline LanguageModel synthetic_model(const ModelOptions& options, std::uint64_t seed = 5) {
  return LanguageModel(options, Vocabulary::from_words(synthetic_corpus_words()), FeatureBank(synthetic_lexicon()),
                       seed);
}

// The same with biases and gains that are not 0 and 1, and layers that differ.
inline LanguageModel random_model(const ModelOptions& options, std::uint64_t seed = 5) {
  LanguageModel model = synthetic_model(options, seed);
  ModelAccess::change_weights(
      model, [&](ParameterBlock& weights) { weights = random_weights(ModelAccess::network(model).layout(), seed); });
  return model;
}

inline std::vector<Sentence> some_sentences(std::size_t count, std::uint64_t seed = 3) {
  return make_synthetic_corpus({.seed = seed, .train = count, .val = 0}).train;
}

// The ids without the last one, or with count_end all of them and <pad> after the last.
inline Batch batch_by_hand(const LanguageModel& model, std::span<const Sentence> sentences, bool count_end) {
  const std::size_t num_features = model.options().fusion ? model.feature_bank().size() : 0;
  BatchPacker packer(num_features);
  for (const Sentence& sentence : sentences) {
    std::vector<TokenId> inputs = model.vocabulary().encode(sentence);
    std::vector<TokenId> targets(inputs.begin() + 1, inputs.end());
    if (count_end) {
      targets.push_back(Vocabulary::kPad);
    } else {
      inputs.pop_back();
    }
    std::vector<float> features;
    if (num_features > 0) {
      const FeatureMatrix rows = model.feature_bank().rows(sentence);
      for (std::size_t t = 0; t < inputs.size(); ++t) {
        features.insert(features.end(), rows.row(t), rows.row(t) + num_features);
      }
    }
    packer.add(inputs, targets, features);
  }
  return packer.take();
}

inline std::vector<std::vector<float>> values_of(const LanguageModel& model) {
  std::vector<std::vector<float>> values;
  for (const NamedParameter& parameter : model.parameters()) {
    values.emplace_back(parameter.values.begin(), parameter.values.end());
  }
  return values;
}

}  // namespace semfuse
