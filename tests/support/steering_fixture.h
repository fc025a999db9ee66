// A small model whose texts are questions or not, for tests of heads.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "data/sentence_dataset.h"
#include "semfuse/generator.h"
#include "semfuse/steering.h"
#include "support/small_language_model.h"

namespace semfuse {

// A model whose words are positive or negative, with a knob, and sentences that are labelled by them.
class Steering : public testing::Test {
 protected:
  Steering() : model_(model()), dataset_(dataset()) {
    for (const Sentence& sentence : sentences_) {
      bool is_question = false;
      for (const std::string& word : sentence) is_question = is_question || word == "?";
      labels_.push_back(is_question ? 1.0f : 0.0f);
    }
  }

  static LanguageModel model() {
    ModelOptions options = small_options(AttentionMask::causal, true);
    options.knobs = {parse_knob("polarity: probability of polarity"),
                     parse_knob("mark: distribution of final_mark over . ! ?")};
    return LanguageModel(options, Vocabulary::from_words(synthetic_corpus_words()),
                         FeatureBank(synthetic_lexicon(), {.bank = FeatureSet::semfuse}), 5);
  }
  std::unique_ptr<SentenceDataset> dataset() const {
    return std::make_unique<SentenceDataset>(
        sentences_, model_.vocabulary(),
        SentenceDatasetOptions{.features = &ModelAccess::features(model_), .max_length = 28});
  }
  SteeringHead trained(SteeringMethod method, std::uint64_t steps = 3, std::size_t threads = 1) const {
    return train_steering(model_, *dataset_, labels_, method, "question",
                          {.steps = steps, .batch = 16, .learning_rate = 0.02, .threads = threads});
  }
  // The share of texts that have a question mark.
  static double questions(const std::vector<Generation>& generations) {
    double count = 0.0;
    for (const Generation& each : generations) count += each.text.find('?') != std::string::npos ? 1.0 : 0.0;
    return count / static_cast<double>(generations.size());
  }
  static std::vector<GenerationRequest> requests(std::size_t n, const std::shared_ptr<const LogitSource>& source) {
    std::vector<GenerationRequest> all(n);
    for (std::size_t i = 0; i < n; ++i) {
      all[i].source = source;
      all[i].index = i;
      all[i].max_tokens = 12;
      if (i % 3 == 1) all[i].prompt = "Alice reviews the";
    }
    return all;
  }

  std::vector<Sentence> sentences_ = some_sentences(80);
  LanguageModel model_;
  std::unique_ptr<SentenceDataset> dataset_;
  std::vector<float> labels_;
};

}  // namespace semfuse
