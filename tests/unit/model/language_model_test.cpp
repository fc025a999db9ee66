#include "semfuse/language_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "losses/class_uniformity.h"
#include "model/model_access.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"
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
        Batch batch = batch_by_hand(model, std::vector<Sentence>{sentence}, /*count_end=*/false);
        if (fusion) batch.features = model.feature_bank().prefix_rows(sentence).values;
        const auto tables = reference::tables_of(ModelAccess::network(model).layout(), ModelAccess::weights(model));
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
    const auto classes = adjective_classes(model.vocabulary(), model.feature_bank().lexicon());
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
                            FeatureBank(synthetic_lexicon()), 1);
  const auto classes =
      adjective_classes(model.vocabulary(), model.feature_bank().lexicon());  // Alice 3, awful 4, good 5, great 6.
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

ModelOptions open_options() {
  ModelOptions options = small_options(kCausal, /*fusion=*/true);
  options.output_features = options.open_vocabulary = true;
  return options;
}

LanguageModel open_model(std::uint64_t seed = 5) {
  LanguageModel model(open_options(), Vocabulary::from_words(synthetic_corpus_words()),
                      FeatureBank(synthetic_lexicon(), {.bank = FeatureSet::open, .kernel_base = 0.1}), seed);
  ModelAccess::change_weights(
      model, [&](ParameterBlock& weights) { weights = random_weights(ModelAccess::network(model).layout(), seed); });
  return model;
}

TEST(LanguageModel, OutputRowsReadTheFeaturesOfAWord) {
  const LanguageModel model = open_model();
  const Batch batch = batch_by_hand(model, std::vector<Sentence>{kSentence}, /*count_end=*/false);
  const auto tables = reference::tables_of(ModelAccess::network(model).layout(), ModelAccess::weights(model));
  std::vector<TokenId> words(41);
  for (std::size_t id = 0; id < words.size(); ++id) words[id] = static_cast<TokenId>(id);
  const FeatureMatrix rows = model.feature_bank().word_rows(model.vocabulary());
  const auto expected = reference::row_head(tables, reference::encode(tables, batch, model.options(), {}), words,
                                            reference::table_of({rows.values.data(), 41, rows.num_features}), {});
  const std::vector<float> logits = model.logits(kSentence);
  ASSERT_EQ(logits.size(), expected.numbers.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(logits[i]), expected.numbers[i], 4e-5) << i;
  }
}

TEST(LanguageModel, UnseenWordsSpeakThroughTheirFeaturesAlone) {
  LanguageModel model = open_model();
  EXPECT_EQ(std::count(model.seen().begin(), model.seen().end(), false), 0);
  std::vector<bool> seen(41, true);
  const auto great = static_cast<std::size_t>(*model.vocabulary().find("great"));
  const auto wonderful = static_cast<std::size_t>(*model.vocabulary().find("wonderful"));
  const std::vector<float> before = model.logits(kSentence);
  EXPECT_NE(before[great], before[wonderful]);
  seen[great] = seen[wonderful] = false;
  model.set_seen(seen);
  EXPECT_EQ(model.seen(), seen);
  // Both are described alike, so nothing tells them apart, as output and as input.
  const std::vector<float> after = model.logits({"very", "great", "and"});
  for (std::size_t t = 0; t < 4; ++t) EXPECT_EQ(after[t * 41 + great], after[t * 41 + wonderful]) << t;
  EXPECT_EQ(after, model.logits({"very", "wonderful", "and"}));
  EXPECT_NE(after, model.logits({"very", "good", "and"}));

  EXPECT_THROW(model.set_seen(std::vector<bool>(40, true)), Error);
  seen[static_cast<std::size_t>(Vocabulary::kEos)] = false;
  EXPECT_THROW(model.set_seen(seen), Error);
}

TEST(LanguageModel, WordsAreAddedByTheirDescription) {
  const LanguageModel model = open_model();
  const LanguageModel larger = model.with_words({{"superb", WordClass::kAdjective, 1.0, 0.0},
                                                 {"they", WordClass::kPronoun, 0.0, 0.0},
                                                 {"barely", WordClass::kIntensifier, 0.0, 0.1}});
  ASSERT_EQ(larger.vocabulary().size(), 44U);
  EXPECT_EQ(*larger.vocabulary().find("superb"), 41);
  EXPECT_EQ(*larger.vocabulary().find("barely"), 43);
  for (std::size_t id = 0; id < 44; ++id) EXPECT_EQ(larger.seen()[id], id < 41) << id;
  // The logits of the words that were there do not change, bit by bit.
  const std::vector<float> before = model.logits(kSentence), after = larger.logits(kSentence);
  for (std::size_t t = 0; t <= kSentence.size(); ++t) {
    for (std::size_t id = 0; id < 41; ++id) ASSERT_EQ(after[t * 44 + id], before[t * 41 + id]) << t << ' ' << id;
  }
  for (const NamedParameter& parameter : model.parameters()) {
    const auto parameters = larger.parameters();
    const auto same = std::find_if(parameters.begin(), parameters.end(),
                                   [&](const NamedParameter& other) { return other.name == parameter.name; });
    ASSERT_NE(same, parameters.end());
    EXPECT_TRUE(std::equal(parameter.values.begin(), parameter.values.end(), same->values.begin())) << parameter.name;
  }
  EXPECT_NO_THROW(larger.logits({"they", "cooks", "the", "meal", ",", "barely", "superb", "."}));

  const auto refused = [&](const LanguageModel& of, LexiconEntry word, const char* part) {
    EXPECT_THAT([&] { of.with_words({word}); }, ThrowsMessage<Error>(HasSubstr(part)));
  };
  refused(model, {"great", WordClass::kAdjective, 1.0, 0.0}, "knows \"great\" already");
  refused(model, {"they", WordClass::kVerb, 0.0, 0.0}, "describes \"they\" differently (a pronoun)");
  refused(model, {"huge", WordClass::kAdjective, 2.0, 0.0}, "polarity of \"huge\" is 2");
  refused(random_model(small_options(kCausal, true)), {"superb", WordClass::kAdjective, 1.0, 0.0},
          "model.output_features=true");
  EXPECT_THROW(model.with_words({{"a", WordClass::kVerb, 0.0, 0.0}, {"a", WordClass::kVerb, 0.0, 0.0}}), Error);
}

// The bank, which every reader of a model asks, and the network, which only knows attributes, agree.
TEST(LanguageModel, LearnedMembershipsGradeItsFeatures) {
  const FeatureOptions features{.bank = FeatureSet::semfuse, .kernel_base = 0.1, .learn_kernel = true};
  const auto make = [&](const FeatureOptions& options) {
    LanguageModel model(open_options(), Vocabulary::from_words(synthetic_corpus_words()),
                        FeatureBank(synthetic_lexicon(), options), 5);
    return model;
  };
  LanguageModel model = make(features);
  FeatureOptions fixed = features;
  fixed.learn_kernel = false;
  EXPECT_EQ(model.parameter_count(), make(fixed).parameter_count() + 3 * 4 + 3 * 3);
  EXPECT_THAT(model.logits(kSentence), testing::Pointwise(testing::FloatNear(1e-4f), make(fixed).logits(kSentence)))
      << "it begins where the options say";

  const std::vector<float> before = model.logits(kSentence);
  const AttributeMemberships first = model.feature_bank().memberships();
  model.set_parameter("memberships.gaps", std::vector<float>{0.5f, -0.2f, 0.1f, 0, 0, 0, 0, 0, 0.3f, 0, 0, -0.4f});
  model.set_parameter("memberships.widths", std::vector<float>{0, 0, 0, 0.2f, 0, 0, 0, 0, -0.3f});
  EXPECT_NE(model.feature_bank().memberships(), first);
  EXPECT_NE(model.logits(kSentence), before);

  const LanguageModel larger = model.with_words({{"barely", WordClass::kIntensifier, 0.0, 0.1}});
  EXPECT_EQ(larger.feature_bank().memberships(), model.feature_bank().memberships());
  for (const LanguageModel* one : {static_cast<const LanguageModel*>(&model), &larger}) {
    const Batch batch = batch_by_hand(*one, std::vector<Sentence>{kSentence}, /*count_end=*/false);
    const auto tables = reference::tables_of(ModelAccess::network(*one).layout(), ModelAccess::weights(*one));
    std::vector<TokenId> words(one->vocabulary().size());
    std::iota(words.begin(), words.end(), TokenId{0});
    const FeatureMatrix rows = one->feature_bank().word_rows(one->vocabulary());
    std::vector<float> graded(rows.values.size());
    ModelAccess::network(*one).memberships()->grade(ModelAccess::weights(*one),
                                                    ModelAccess::network(*one).word_features(),
                                                    {graded.data(), rows.num_rows, rows.num_features});
    EXPECT_EQ(graded, rows.values);
    const auto expected =
        reference::row_head(tables, reference::encode(tables, batch, one->options(), {}), words,
                            reference::table_of({rows.values.data(), rows.num_rows, rows.num_features}), {});
    const std::vector<float> logits = one->logits(kSentence);
    ASSERT_EQ(logits.size(), expected.numbers.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(logits[i]), expected.numbers[i], 4e-5) << i;
    }
  }
  EXPECT_THROW(LanguageModel(small_options(kCausal, /*fusion=*/false), Vocabulary::from_words({"a"}),
                             FeatureBank(synthetic_lexicon(), features), 1),
               Error);
}

// By word, the probability after a sentence.
std::map<std::string, double> probabilities(const LanguageModel& model, const Sentence& sentence) {
  const std::vector<float> logits = model.logits(sentence);
  const std::size_t first = sentence.size() * model.vocabulary().size();
  std::map<std::string, double> result;
  double sum = 0.0;
  for (std::size_t id = 0; id < model.vocabulary().size(); ++id) {
    const double weight = std::exp(static_cast<double>(logits[first + id]));
    result[model.vocabulary().entries()[id]] = weight;
    sum += weight;
  }
  for (auto& [word, probability] : result) probability /= sum;
  return result;
}

TEST(LanguageModel, AddedWordsShareTheProbabilityOfTheirKind) {
  ModelOptions options = open_options();
  options.share_class_mass = true;
  LanguageModel model(options, Vocabulary::from_words(synthetic_corpus_words()),
                      FeatureBank(synthetic_lexicon(), {.bank = FeatureSet::semfuse, .kernel_base = 0.1}), 5);
  ModelAccess::change_weights(
      model, [&](ParameterBlock& weights) { weights = random_weights(ModelAccess::network(model).layout(), 5); });
  const std::map<std::string, double> before = probabilities(model, kSentence);
  // Adding words scales those of their kind alike and leaves all others as they are to each other, though the model has
  // ten thousand more.
  std::vector<LexiconEntry> words;
  for (std::size_t i = 0; i < 10'000; ++i) {
    words.push_back({.word = "w" + std::to_string(i), .word_class = WordClass::kAdjective, .polarity = 0.5});
  }
  const std::map<std::string, double> after = probabilities(model.with_words(words), kSentence);
  EXPECT_NEAR(after.at("good") / after.at("pleasant"), before.at("good") / before.at("pleasant"), 1e-4);
  EXPECT_NEAR(after.at("bad") / after.at("meal"), before.at("bad") / before.at("meal"), 1e-4);
  EXPECT_NEAR(after.at("good") / after.at("bad") * 10'005 / 5, before.at("good") / before.at("bad"), 1e-3);
  EXPECT_NEAR(after.at("w1"), after.at("w9999"), 1e-9);
}

TEST(UnfamiliarWords, AreNamedWithWhatTrainingDidNotShow) {
  LanguageModel model = open_model();
  std::vector<bool> seen(41, true);
  for (const char* word : {"she", "he"}) seen[static_cast<std::size_t>(*model.vocabulary().find(word))] = false;
  for (const char* word : {"bad", "poor", "terrible", "unpleasant", "awful"}) {
    seen[static_cast<std::size_t>(*model.vocabulary().find(word))] = false;
  }
  model.set_seen(seen);
  const auto doubts = [&](const LexiconEntry& word, bool grades = true) {
    return unfamiliar_words(model, {word}, grades);
  };
  const auto adjective = [](double polarity) {
    return LexiconEntry{.word = "new", .word_class = WordClass::kAdjective, .polarity = polarity};
  };
  using testing::ElementsAre;
  using testing::IsEmpty;
  EXPECT_THAT(doubts(adjective(1)), IsEmpty());
  EXPECT_THAT(doubts(adjective(0.25)), IsEmpty());
  EXPECT_THAT(doubts(adjective(0)), IsEmpty());
  EXPECT_THAT(doubts(adjective(1), /*grades=*/false), IsEmpty());
  EXPECT_THAT(doubts(adjective(-0.5)), ElementsAre(AllOf(HasSubstr("\"new\" has polarity -0.5"), HasSubstr("0 to 1"))));
  EXPECT_THAT(doubts(adjective(-0.5), false), ElementsAre(HasSubstr("polarity -0.5")));
  model.set_seen(std::vector<bool>(41, true));
  EXPECT_THAT(doubts(adjective(-0.5)), IsEmpty());
  EXPECT_THAT(doubts(adjective(-0.5), false), ElementsAre(HasSubstr("polarity_jitter")));
  model.set_seen(seen);

  EXPECT_THAT(doubts({.word = "they", .word_class = WordClass::kPronoun}), ElementsAre(HasSubstr("class pronoun")));
  EXPECT_THAT(doubts({.word = "or"}), ElementsAre(AllOf(HasSubstr("\"or\""), HasSubstr("no feature"))));
  EXPECT_THAT(doubts({.word = ";", .word_class = WordClass::kPunctuation}), ElementsAre(HasSubstr("no feature")));
  EXPECT_THAT(doubts({.word = "grace", .word_class = WordClass::kSubject}), ElementsAre(HasSubstr("no feature")));
  EXPECT_THAT(doubts({.word = "Grace", .word_class = WordClass::kSubject}), IsEmpty());
  const auto intensifier = [](double strength) {
    return LexiconEntry{.word = "quite", .word_class = WordClass::kIntensifier, .strength = strength};
  };
  EXPECT_THAT(doubts(intensifier(0.6)), IsEmpty());
  EXPECT_THAT(doubts(intensifier(0.1)), ElementsAre(HasSubstr("strength 0.1, and training showed 0.2 to 1")));
}

TEST(LanguageModel, OpenWordsNeedFusion) {
  ModelOptions options = small_options(kCausal, /*fusion=*/false);
  options.open_vocabulary = true;
  EXPECT_THAT([&] { synthetic_model(options); }, ThrowsMessage<Error>(HasSubstr("need fusion")));
}

}  // namespace
}  // namespace semfuse
