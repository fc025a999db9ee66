#include "semfuse/language_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <string>

#include "semfuse/error.h"
#include "support/reference_model.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

constexpr auto kCausal = AttentionMask::causal;
constexpr auto kBidirectional = AttentionMask::bidirectional;
const Sentence kSentence = {"Alice", "reviews", "the", "paper", ",", "very", "good", "!"};

TEST(LanguageModel, LogitsEqualTheTwin) {
  for (const auto attention : {kCausal, kBidirectional}) {
    for (const bool fusion : {true, false}) {
      SCOPED_TRACE(std::string(to_string(attention)) + (fusion ? ", fusion" : ", baseline"));
      const LanguageModel model = random_model(small_options(attention, fusion));
      for (const Sentence& sentence : {kSentence, Sentence{"she"}, Sentence{}}) {
        const Batch batch = batch_by_hand(model, std::vector<Sentence>{sentence}, /*count_end=*/false);
        const auto tables = reference::tables_of(model.network().layout(), model.weights());
        const auto expected = reference::token_head(tables, reference::encode(tables, batch, model.options(), {}));
        const std::vector<float> logits = model.logits(sentence);
        ASSERT_EQ(logits.size(), (sentence.size() + 1) * 41);
        ASSERT_EQ(logits.size(), expected.numbers.size());
        for (std::size_t i = 0; i < logits.size(); ++i) {
          ASSERT_NEAR(static_cast<double>(logits[i]), expected.numbers[i], 2e-5) << i;
        }
      }
    }
  }
}

TEST(LanguageModel, OnlyBidirectionalAttentionReadsAhead) {
  Sentence other = kSentence;
  other[4] = "and";
  for (const auto attention : {kCausal, kBidirectional}) {
    const LanguageModel model = random_model(small_options(attention, /*fusion=*/false));
    const std::vector<float> a = model.logits(kSentence), b = model.logits(other);
    const auto before = static_cast<std::ptrdiff_t>(5 * 41);  // <bos> and four words.
    EXPECT_EQ(std::equal(a.begin(), a.begin() + before, b.begin()), attention == kCausal);
    EXPECT_FALSE(std::equal(a.begin() + before, a.end(), b.begin() + before));
  }
}

TEST(LanguageModel, LogitsRefuseUnknownWords) {
  const LanguageModel model = synthetic_model(small_options(kCausal, true));
  EXPECT_THAT(
      [&] {
        model.logits({"Alice", "revews"});
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("word 2 \"revews\""), HasSubstr("reviews"))));
  EXPECT_THROW(model.logits({"<eos>"}), Error);
}

TEST(LanguageModel, SetsOneParameter) {
  LanguageModel model = synthetic_model(small_options(kCausal, true));
  const auto before = values_of(model);
  std::vector<float> bias(16);
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i) - 7.5f;
  model.set_parameter("gate.bias", bias);
  const auto after = values_of(model);
  const auto parameters = model.parameters();
  ASSERT_EQ(parameters.size(), before.size());
  std::size_t total = 0;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    EXPECT_EQ(after[p], parameters[p].name == "gate.bias" ? bias : before[p]) << parameters[p].name;
    std::size_t size = 1;
    for (const std::size_t extent : parameters[p].shape) size *= extent;
    EXPECT_EQ(parameters[p].values.size(), size) << parameters[p].name;
    total += size;
  }
  EXPECT_EQ(total, model.parameter_count());
}

TEST(LanguageModel, RefusesParametersThatDoNotFit) {
  LanguageModel model = synthetic_model(small_options(kCausal, true));
  const auto before = values_of(model);
  const auto attempt = [&](const std::string& name, std::size_t count) {
    return [&model, name, count] { model.set_parameter(name, std::vector<float>(count, 9.0f)); };
  };
  EXPECT_THAT(attempt("gate.bais", 16), ThrowsMessage<Error>(HasSubstr("gate.bais")));
  EXPECT_THAT(attempt("", 16), ThrowsMessage<Error>(HasSubstr("no parameter")));
  EXPECT_THAT(attempt("enc.layers.2.linear1.bias", 24), ThrowsMessage<Error>(HasSubstr("enc.layers.2.linear1.bias")));
  for (const std::size_t count : {0, 15, 17}) {
    EXPECT_THAT(attempt("gate.bias", count),
                ThrowsMessage<Error>(AllOf(HasSubstr("gate.bias"), HasSubstr("16"), HasSubstr(std::to_string(count)))));
  }
  EXPECT_EQ(values_of(model), before);
  LanguageModel baseline = synthetic_model(small_options(kCausal, false));
  EXPECT_THROW(baseline.set_parameter("gate.bias", std::vector<float>(16)), Error);
}

TEST(LanguageModel, AdjectiveClassesHoldTheHeldOutWordsToo) {
  for (const bool fusion : {true, false}) {
    const LanguageModel model = synthetic_model(small_options(kCausal, fusion));
    const auto classes = model.adjective_classes();
    ASSERT_THAT(classes, SizeIs(2));
    std::vector<std::set<std::string>> words(2);
    for (std::size_t c = 0; c < 2; ++c) {
      EXPECT_THAT(classes[c], SizeIs(5));
      for (const TokenId id : classes[c]) {
        words[c].insert(model.vocabulary().word(id));
        const LexiconEntry* entry = model.feature_bank().lexicon().find(model.vocabulary().word(id));
        ASSERT_NE(entry, nullptr);
        EXPECT_EQ(entry->polarity, c == 0 ? 1.0 : -1.0) << entry->word;
      }
      EXPECT_THAT(words[c], SizeIs(5));
    }
    for (const char* word : {"wonderful", "excellent", "great"}) EXPECT_TRUE(words[0].contains(word)) << word;
    for (const char* word : {"terrible", "awful", "unpleasant"}) EXPECT_TRUE(words[1].contains(word)) << word;
  }
}

TEST(LanguageModel, AdjectiveClassesHoldOnlyKnownWords) {
  const LanguageModel model(small_options(kCausal, true), Vocabulary::from_words({"awful", "great", "Alice", "good"}),
                            FeatureBank(Lexicon::synthetic()), 1);
  const auto classes = model.adjective_classes();  // Alice 3, awful 4, good 5, great 6.
  ASSERT_THAT(classes, SizeIs(2));
  EXPECT_THAT(classes[0], UnorderedElementsAre(5, 6));
  EXPECT_THAT(classes[1], UnorderedElementsAre(4));
}

TEST(LanguageModel, RefusesImpossibleOptions) {
  const auto model_with = [](const std::function<void(ModelOptions&)>& change) {
    ModelOptions options = small_options(kCausal, true);
    change(options);
    synthetic_model(options);
  };
  using Change = std::function<void(ModelOptions&)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"width", [](ModelOptions& o) { o.width = 0; }},
      {"width", [](ModelOptions& o) { o.width = 18, o.heads = 4; }},
      {"width", [](ModelOptions& o) { o.width = 15, o.heads = 3; }},
      {"heads", [](ModelOptions& o) { o.heads = 0; }},
      {"heads", [](ModelOptions& o) { o.heads = 32; }},
      {"layers", [](ModelOptions& o) { o.layers = 0; }},
      {"feed_forward", [](ModelOptions& o) { o.feed_forward = 0; }},
      {"feature_head", [](ModelOptions& o) { o.feature_head = 0; }},
      {"dropout", [](ModelOptions& o) { o.dropout = 1.0; }},
      {"dropout", [](ModelOptions& o) { o.dropout = -0.1; }},
      {"dropout", [](ModelOptions& o) { o.dropout = std::numeric_limits<double>::quiet_NaN(); }}};
  for (const auto& [name, change] : changes) {
    EXPECT_THAT([&] { model_with(change); }, ThrowsMessage<Error>(HasSubstr(name)));
  }
  EXPECT_NO_THROW(model_with([](ModelOptions& o) { o.dropout = 0.0; }));
  EXPECT_NO_THROW(model_with([](ModelOptions& o) { o.width = 6, o.heads = 3; }));
  EXPECT_NO_THROW(model_with([](ModelOptions& o) { o.fusion = false, o.feature_head = 0; }));
}

TEST(LanguageModel, KeepsItsWeightsWhenMoved) {
  LanguageModel model = random_model(small_options(kBidirectional, true), 5);
  const std::vector<float> expected = model.logits(kSentence);
  LanguageModel moved = std::move(model);
  EXPECT_EQ(moved.logits(kSentence), expected);
  LanguageModel other = random_model(small_options(kCausal, false), 6);
  EXPECT_NE(other.logits(kSentence), expected);
  other = std::move(moved);
  EXPECT_EQ(other.logits(kSentence), expected);
}

}  // namespace
}  // namespace semfuse
