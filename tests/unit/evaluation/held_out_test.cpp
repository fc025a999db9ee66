#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "semfuse/evaluation.h"
#include "semfuse/tokenizer_trainer.h"

namespace semfuse {
namespace {

class Texts : public Dataset {
 public:
  Texts(const LanguageModel& model, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      std::vector<TokenId>& ids = ids_.emplace_back(std::vector<TokenId>{Vocabulary::kBos});
      const std::vector<TokenId> own = model.encode(text);
      ids.insert(ids.end(), own.begin(), own.end());
      ids.push_back(Vocabulary::kEos);
    }
  }
  std::size_t size() const override { return ids_.size(); }
  std::span<const TokenId> ids(std::size_t text) const override { return ids_[text]; }
  std::size_t num_features() const override { return 0; }
  void copy_features(std::size_t, std::span<float>) const override {}
  KnobLabel label(std::size_t, std::size_t) const override { return {}; }
  std::uint64_t num_bytes() const override { return 0; }

 private:
  std::vector<std::vector<TokenId>> ids_;
};

TEST(HeldOutEvaluation, GroupsWordsByWhatTrainingShowed) {
  TokenizerTrainer trainer;
  for (int i = 0; i < 2; ++i) trainer.add("the soup was good and the bread was bad but superb food");
  const LanguageModel model({.width = 8, .layers = 1, .heads = 2, .feed_forward = 8, .fusion = false},
                            trainer.make(TokenizerKind::words, 300),
                            FeatureBank(Lexicon({}), {.bank = FeatureSet::none}), 3);
  std::vector<std::string> shown(20, "the soup was good and the bread was bad");
  shown.insert(shown.end(), 3, "the food was bad");
  const Texts train(model, shown);
  const Texts held_out(model, {"the soup was superb", "superb food was superb and good", "the superb bread"});
  const EvaluationOptions options = {.held_out = {}, .count_end = false, .threads = 2};
  const HeldOutEvaluation result = evaluate_held_out(model, held_out, train, {"superb", "zebra"}, options);
  EXPECT_EQ(result.num_texts, 3U);
  // " superb" is met three times; "superb", which no text of the tokenizer's began with, is bytes.
  EXPECT_EQ(result.held_out.num_words, 1U);
  EXPECT_EQ(result.held_out.num_positions, 3U);
  EXPECT_EQ(result.after.num_positions, 3U);
  // " food" is the nearest, met three times in training; the next three are met 20 times: the first of them by id.
  EXPECT_EQ(result.matched.num_words, 4U);
  EXPECT_GE(result.matched.num_positions, 1U);
  const Evaluation same = evaluate(model, held_out, {.held_out = {" superb"}, .count_end = false, .threads = 1});
  EXPECT_NEAR(result.held_out.cross_entropy, same.held_out_cross_entropy, 1e-6);
  EXPECT_NEAR(result.after.cross_entropy, same.after_held_out_cross_entropy, 1e-6);
  EXPECT_GT(result.held_out.unigram, result.others.unigram);
  EXPECT_TRUE(std::isnan(evaluate_held_out(model, held_out, train, {"zebra"}, options).held_out.cross_entropy));
}

}  // namespace
}  // namespace semfuse
