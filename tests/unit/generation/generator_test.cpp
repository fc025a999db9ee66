#include "semfuse/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <stdexcept>
#include <type_traits>

#include "losses/class_uniformity.h"
#include "model/model_access.h"
#include "semfuse/class_words.h"
#include "semfuse/error.h"
#include "semfuse/paper_controls.h"
#include "semfuse/synthetic_corpus.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

using testing::HasSubstr;

class GeneratorTest : public testing::Test {
 protected:
  std::shared_ptr<const CompiledGrammar> compiled(const std::string& gbnf) const {
    return std::make_shared<CompiledGrammar>(Grammar::parse(gbnf, "test", words_of(model_.feature_bank().lexicon())),
                                             TokenSurfaces::of(model_.vocabulary()));
  }
  std::shared_ptr<const CompiledGrammar> builtin(const std::string& name) const {
    return std::make_shared<CompiledGrammar>(Grammar::builtin(name, words_of(model_.feature_bank().lexicon())),
                                             TokenSurfaces::of(model_.vocabulary()));
  }
  std::vector<GenerationRequest> numbered(GenerationRequest request, std::size_t count) const {
    std::vector<GenerationRequest> requests(count, request);
    for (std::size_t i = 0; i < count; ++i) requests[i].index = i;
    return requests;
  }
  std::string failure(const GenerationRequest& request) const {
    try {
      Generator(model_).generate(request);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  LanguageModel model_ = random_model(small_options(AttentionMask::causal, true));
};

TEST_F(GeneratorTest, TheSameForAnyNumberOfThreadsAndAloneOrInABatch) {
  for (const bool with_grammar : {false, true}) {
    GenerationRequest request{.max_tokens = 20, .seed = 9};
    if (with_grammar) request.grammar = builtin("two-clause");
    const auto requests = numbered(request, 150);
    const std::vector<Generation> all = Generator(model_, 1).generate(requests);
    for (const std::size_t threads : {2, 3, 4}) {
      const std::vector<Generation> again = Generator(model_, threads).generate(requests);
      for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(again[i].text, all[i].text) << threads << " threads";
    }
    const Generator generator(model_);
    for (std::size_t i = 0; i < all.size(); i += 7) {
      const Generation alone = generator.generate(requests[i]);
      ASSERT_EQ(alone.text, all[i].text);
      ASSERT_EQ(alone.tokens.size(), all[i].tokens.size());
      for (std::size_t t = 0; t < alone.tokens.size(); ++t) {
        ASSERT_EQ(alone.tokens[t].log_probability, all[i].tokens[t].log_probability);
      }
    }
  }
}

TEST_F(GeneratorTest, SeedsAndIndicesDiffer) {
  const Generator generator(model_);
  const std::string first = generator.generate({.max_tokens = 20, .seed = 1}).text;
  EXPECT_NE(first, generator.generate({.max_tokens = 20, .seed = 2}).text);
  EXPECT_NE(first, generator.generate({.max_tokens = 20, .seed = 1, .index = 1}).text);
}

// Without options the first token follows the model's own distribution.
TEST_F(GeneratorTest, DrawsFromTheModelsOwnDistribution) {
  constexpr std::size_t kDraws = 20000;
  const std::vector<Generation> all = Generator(model_, 2).generate(numbered({.max_tokens = 1, .seed = 4}, kDraws));
  std::map<TokenId, double> counts;
  for (const Generation& generation : all) counts[generation.tokens.front().id] += 1.0;
  const std::vector<float> logits = model_.logits({});
  double sum = 0.0;
  for (std::size_t id = 2; id < model_.vocabulary().size(); ++id) sum += std::exp(static_cast<double>(logits[id]));
  double chi_square = 0.0;
  double freedom = -1.0;
  for (std::size_t id = 2; id < model_.vocabulary().size(); ++id) {
    const double expected = kDraws * std::exp(static_cast<double>(logits[id])) / sum;
    if (expected < 5.0) continue;
    chi_square += std::pow(counts[static_cast<TokenId>(id)] - expected, 2.0) / expected;
    freedom += 1.0;
  }
  EXPECT_LT(chi_square, freedom + 4.5 * std::sqrt(2.0 * freedom));
  EXPECT_EQ(counts.count(Vocabulary::kPad) + counts.count(Vocabulary::kBos), 0u);
}

TEST_F(GeneratorTest, ForcedTokensAreMarkedAndCertain) {
  const Generation generation =
      Generator(model_).generate({.grammar = compiled(R"(root ::= "Alice reviews the" " " @object ".")")});
  ASSERT_EQ(generation.tokens.size(), 6u);
  for (const std::size_t t : {0u, 1u, 2u, 4u, 5u}) {
    EXPECT_TRUE(generation.tokens[t].forced) << t;
    EXPECT_EQ(generation.tokens[t].log_probability, 0.0) << t;
  }
  EXPECT_FALSE(generation.tokens[3].forced);
  EXPECT_LT(generation.tokens[3].log_probability, 0.0);
  EXPECT_EQ(generation.tokens.back().id, Vocabulary::kEos);
  EXPECT_EQ(generation.finish, Generation::Finish::ended);
}

TEST_F(GeneratorTest, SkippingForcedTokensDoesNotChangeTheText) {
  GenerationRequest request{.grammar = builtin("two-clause"), .seed = 21};
  const std::vector<Generation> skipped = Generator(model_).generate(numbered(request, 40));
  request.explain = true;  // Computes every position.
  const std::vector<Generation> computed = Generator(model_).generate(numbered(request, 40));
  for (std::size_t i = 0; i < skipped.size(); ++i) EXPECT_EQ(skipped[i].text, computed[i].text);
}

TEST_F(GeneratorTest, GoesOnFromThePrompt) {
  const GenerationRequest request{.prompt = "Carol starts the model,", .grammar = builtin("one-clause"), .seed = 3};
  for (const Generation& generation : Generator(model_).generate(numbered(request, 20))) {
    EXPECT_THAT(generation.text, testing::StartsWith("Carol starts the model, "));
    EXPECT_EQ(generation.prompt_tokens, 5u);
    EXPECT_EQ(generation.words.size(), 8u);
    EXPECT_EQ(generation.tokens.size(), 4u);  // Intensifier, adjective, mark, <eos>.
  }
}

TEST_F(GeneratorTest, AWholePromptIsTheSentence) {
  const Generation generation =
      Generator(model_).generate({.prompt = "Carol starts the model, very good!", .grammar = builtin("one-clause")});
  EXPECT_EQ(generation.text, "Carol starts the model, very good!");
  EXPECT_EQ(generation.finish, Generation::Finish::ended);
}

TEST_F(GeneratorTest, RefusesAPromptWithItsPositionAndWhatFits) {
  const auto grammar = builtin("one-clause");
  EXPECT_THAT(failure({.prompt = "Carol starts the modle", .grammar = grammar}),
              testing::AllOf(HasSubstr("word 4 \"modle\""), HasSubstr("did you mean \"model\""), HasSubstr("paper")));
  EXPECT_THAT(failure({.prompt = "Carol starts model", .grammar = grammar}),
              testing::AllOf(HasSubstr("word 3 \"model\""), HasSubstr("the")));
  EXPECT_THAT(failure({.prompt = "Carol starts the model, very good! and", .grammar = grammar}),
              testing::AllOf(HasSubstr("word 9 \"and\""), HasSubstr("end of text")));
  EXPECT_THAT(failure({.prompt = "starts", .grammar = grammar}), HasSubstr("word 1 \"starts\""));
  EXPECT_THAT(failure({.prompt = "<eos>"}), HasSubstr("special"));
  EXPECT_THAT(failure({.prompt = "Carol flies"}), HasSubstr("word 2 \"flies\" is not in the vocabulary"));
  EXPECT_THAT(failure({.prompt = "Carol starts the model", .max_tokens = 3}), HasSubstr("max-tokens"));
}

TEST_F(GeneratorTest, ABudgetThatEndsFirstIsReported) {
  const Generation generation = Generator(model_).generate({.grammar = builtin("one-clause"), .max_tokens = 3});
  EXPECT_EQ(generation.finish, Generation::Finish::out_of_tokens);
  EXPECT_EQ(generation.grammar, Generation::GrammarState::incomplete);
  EXPECT_EQ(generation.words.size(), 3u);
  EXPECT_FALSE(generation.expected.empty());
}

TEST_F(GeneratorTest, ABudgetThatJustSufficesIsEnough) {
  const Generation generation = Generator(model_).generate({.grammar = builtin("one-clause"), .max_tokens = 8});
  EXPECT_EQ(generation.finish, Generation::Finish::ended);
  EXPECT_EQ(generation.grammar, Generation::GrammarState::complete);
}

TEST_F(GeneratorTest, ASentenceIsClosedBeforeTheBudgetEnds) {
  const std::string chain = R"(root ::= "Eve" (" reviews" | " reviews the paper, very good and she")* ".")";
  const std::string nested = R"(root ::= clause "."
clause ::= "Eve reviews" | "Eve" ((" and" | " very") " " clause " good" | " starts"))";
  for (const std::string& gbnf : {chain, nested}) {
    const auto grammar = compiled(gbnf);
    std::size_t shorter = 0;
    for (std::size_t budget = 3; budget < 15; ++budget) {
      const auto requests = numbered({.grammar = grammar, .max_tokens = budget, .seed = budget}, 40);
      for (const Generation& generation : Generator(model_).generate(requests)) {
        ASSERT_EQ(generation.finish, Generation::Finish::ended) << budget << ": " << generation.text;
        ASSERT_EQ(generation.grammar, Generation::GrammarState::complete);
        ASSERT_TRUE(grammar->grammar().match(generation.text).accepted) << generation.text;
        ASSERT_LE(generation.words.size(), budget);
        shorter += generation.words.size() < budget ? 1 : 0;
      }
    }
    EXPECT_GT(shorter, 0u);
  }
}

TEST_F(GeneratorTest, ABudgetThatIsNotNearChangesNothing) {
  const auto grammar = builtin("two-clause");
  const auto few = Generator(model_).generate(numbered({.grammar = grammar, .max_tokens = 17}, 100));
  const auto many = Generator(model_).generate(numbered({.grammar = grammar, .max_tokens = 1000}, 100));
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].text, many[i].text);
    for (std::size_t t = 0; t < few[i].tokens.size(); ++t) {
      EXPECT_EQ(few[i].tokens[t].log_probability, many[i].tokens[t].log_probability);
    }
  }
}

TEST_F(GeneratorTest, HardControlsAreMetEveryTime) {
  for (const auto& [name, polarity, mark] : std::vector<std::tuple<std::string, double, std::string>>{
           {"paper-positive", 1.0, "!"}, {"paper-negative", -1.0, ""}, {"paper-negative-question", -1.0, "?"}}) {
    const GenerationRequest request = request_of(generation_preset(name), model_, builtin("one-clause"));
    for (const Generation& generation : Generator(model_, 2).generate(numbered(request, 200))) {
      const LexiconEntry* adjective = model_.feature_bank().lexicon().find(generation.words[6]);
      ASSERT_GT(adjective->polarity * polarity, 0.0) << name << ": " << generation.text;
      if (!mark.empty()) {
        ASSERT_EQ(generation.words.back(), mark) << name;
      }
    }
  }
}

// The adjective of a hard request comes from q = (1 - α) softmax(logits / T) + α / |class| on the raw logits.
TEST_F(GeneratorTest, HardRequestsDrawFromTheClassMixture) {
  const ControlOptions controls = {.neg_high = 0.95, .negative = {.alpha = 0.4, .temperature = 1.3, .top_p = 1.0}};
  const SamplingOptions sampling = {.temperature = 0.3, .top_p = 0.5};
  const GenerationRequest request{.prompt = "Carol starts the model, very",
                                  .grammar = builtin("one-clause"),
                                  .sampling = sampling,
                                  .repetition = {.penalty = 2.5},
                                  .rules = control_rules(controls, sampling, model_)};
  const Generation generation = Generator(model_).generate(request);
  const std::vector<float> logits = model_.logits(split_words("Carol starts the model, very"));
  const std::vector<TokenId> negative = adjective_classes(model_.vocabulary(), model_.feature_bank().lexicon())[1];
  const float* last = logits.data() + 6 * model_.vocabulary().size();
  double sum = 0.0;
  for (const TokenId id : negative) sum += std::exp(static_cast<double>(last[id]) / 1.3);
  const TokenId chosen = generation.tokens.front().id;
  const double expected = 0.6 * std::exp(static_cast<double>(last[chosen]) / 1.3) / sum + 0.4 / 5.0;
  EXPECT_NEAR(generation.tokens.front().log_probability, std::log(expected), 1e-9);
}

TEST_F(GeneratorTest, SoftControlsShiftButDoNotRuleOut) {
  GenerationRequest request{.grammar = builtin("one-clause"), .rules = control_rules({.pos_high = 0.3}, {}, model_)};
  const auto share = [&] {
    double positive = 0.0;
    for (const Generation& generation : Generator(model_, 2).generate(numbered(request, 400))) {
      positive += model_.feature_bank().lexicon().find(generation.words[6])->polarity > 0 ? 1.0 / 400 : 0.0;
    }
    return positive;
  };
  const double shifted = share();
  request.rules = {};
  const double plain = share();
  request.rules = control_rules({.neg_high = 0.95, .soft_only = true}, {}, model_);
  EXPECT_GT(shifted, plain + 0.1);
  EXPECT_LT(share(), plain);
}

TEST_F(GeneratorTest, UserRulesActOnWhatTheGrammarAllows) {
  class OnlyEve : public LogitRule {
   public:
    std::string_view name() const override { return "only Eve"; }
    RuleOutcome apply(const DecodingStep& step, std::span<double> logits) const override {
      if (step.tokens.size() > 1) return {};
      for (std::size_t id = 0; id < logits.size(); ++id) {
        if (step.vocabulary.entries()[id] != "Eve") logits[id] = -INFINITY;
      }
      return {};
    }
  };
  const GenerationRequest request{.grammar = builtin("one-clause"), .rules = {std::make_shared<OnlyEve>()}};
  EXPECT_THAT(Generator(model_).generate(request).text, testing::StartsWith("Eve "));
}

TEST_F(GeneratorTest, AFinalRuleIsDrawnFromAsItIs) {
  class Half : public LogitRule {  // Of all tokens, "Eve" and "!" only, half each.
   public:
    std::string_view name() const override { return "half"; }
    RuleOutcome apply(const DecodingStep& step, std::span<double> logits) const override {
      std::fill(logits.begin(), logits.end(), -INFINITY);
      for (const char* word : {"Eve", "!"})
        logits[static_cast<std::size_t>(*step.vocabulary.find(word))] = std::log(0.5);
      return {.final = true, .unmet = true};
    }
  };
  const GenerationRequest request{.sampling = {.temperature = 0.1, .top_k = 1},
                                  .repetition = {.penalty = 9.0},
                                  .rules = {std::make_shared<Half>()},
                                  .max_tokens = 1};
  double eve = 0.0;
  for (const Generation& generation : Generator(model_).generate(numbered(request, 1000))) {
    EXPECT_EQ(generation.tokens[0].log_probability, std::log(0.5));
    EXPECT_THAT(generation.unmet, testing::ElementsAre("half"));
    eve += generation.text == "Eve" ? 1.0 : 0.0;
  }
  EXPECT_NEAR(eve, 500.0, 5.0 * std::sqrt(250.0));
}

TEST_F(GeneratorTest, ARuleBringsBackNothingThatTheGrammarForbids) {
  class Flat : public LogitRule {
   public:
    std::string_view name() const override { return "flat"; }
    RuleOutcome apply(const DecodingStep&, std::span<double> logits) const override {
      std::ranges::fill(logits, 0.0);
      return {};
    }
  };
  const auto grammar = builtin("one-clause");
  const GenerationRequest request{.grammar = grammar, .rules = {std::make_shared<Flat>()}};
  for (const Generation& generation : Generator(model_).generate(numbered(request, 50))) {
    EXPECT_FALSE(generation.error.has_value()) << *generation.error;
    EXPECT_TRUE(grammar->grammar().match(generation.text).accepted) << generation.text;
  }
}

TEST_F(GeneratorTest, RulesThatLeaveNothingAreRefused) {
  class Nothing : public LogitRule {
   public:
    std::string_view name() const override { return "nothing"; }
    RuleOutcome apply(const DecodingStep&, std::span<double> logits) const override {
      std::fill(logits.begin(), logits.end(), -INFINITY);
      return {};
    }
  };
  EXPECT_THAT(failure({.rules = {std::make_shared<Nothing>()}}),
              HasSubstr("the rule \"nothing\" leaves no token to choose from"));
}

static_assert(std::is_constructible_v<Generator, const LanguageModel&>);
static_assert(!std::is_constructible_v<Generator, LanguageModel>);  // It would point to a model that is gone.
static_assert(!std::is_constructible_v<Generator, const LanguageModel, std::size_t>);

TEST_F(GeneratorTest, RefusesAGrammarOfAnotherVocabulary) {
  const auto grammar_for = [](const std::vector<std::string>& words) {
    return std::make_shared<CompiledGrammar>(
        Grammar::parse(R"(root ::= "Eve" [!,]*)", "g", words_of(synthetic_lexicon())),
        TokenSurfaces::of(Vocabulary::from_words(words)));
  };
  EXPECT_THAT(failure({.grammar = grammar_for({"Eve", "!"})}),
              testing::AllOf(HasSubstr("compiled for another vocabulary (5 entries, this model has 41)"),
                             HasSubstr("TokenSurfaces::of(model.vocabulary())")));
  std::vector<std::string> many = {"Eve", "!"};
  for (int i = 0; i < 5000; ++i) many.push_back("w" + std::to_string(i));
  EXPECT_THAT(failure({.grammar = grammar_for(many)}), HasSubstr("(5005 entries, this model has 41)"));

  // As many words but other ones, or a word more.
  std::vector<std::string> words = synthetic_corpus_words();
  std::ranges::replace(words, "paper", "papyrus");
  EXPECT_THAT(failure({.grammar = grammar_for(words)}), HasSubstr("another vocabulary"));
  const auto before = compiled(R"(root ::= "Eve" "!")");
  EXPECT_EQ(Generator(model_).generate({.grammar = before}).text, "Eve!");
  EXPECT_EQ(before->vocab_size(), model_.vocabulary().size());
  const LanguageModel wider(small_options(AttentionMask::causal, true), Vocabulary::from_words([] {
                              std::vector<std::string> all = synthetic_corpus_words();
                              all.push_back("shiny");
                              return all;
                            }()),
                            FeatureBank(synthetic_lexicon()), 5);
  const Generator generator(wider);
  EXPECT_THROW(generator.generate({.grammar = before}), Error);
  const auto after = generator.compile(Grammar::parse(R"(root ::= "Eve shiny")", "g", words_of(synthetic_lexicon())));
  EXPECT_EQ(generator.generate({.grammar = after}).text, "Eve shiny");
  // All grammars of a generator share what its vocabulary is for them.
  const auto again = generator.compile(Grammar::parse(R"(root ::= "Eve")", "g"));
  EXPECT_EQ(&again->vocabulary().surfaces(), &after->vocabulary().surfaces());
}

TEST_F(GeneratorTest, ABadRequestOfABatchFailsAlone) {
  auto requests = numbered({.grammar = builtin("one-clause"), .seed = 9}, 30);
  const std::vector<Generation> good = Generator(model_).generate(requests);
  requests[3].prompt = "Carol flies";
  requests[7].sampling.top_p = 2.0;
  requests[20].grammar =
      std::make_shared<CompiledGrammar>(Grammar::parse(R"(root ::= "Eve")", "g", words_of(synthetic_lexicon())),
                                        TokenSurfaces::of(Vocabulary::from_words({"Eve"})));
  for (const std::size_t threads : {1, 3}) {
    const std::vector<Generation> all = Generator(model_, threads).generate(requests);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool bad = i == 3 || i == 7 || i == 20;
      EXPECT_EQ(all[i].finish, bad ? Generation::Finish::failed : Generation::Finish::ended) << i;
      EXPECT_EQ(all[i].error.has_value(), bad) << i;
      if (!bad) {
        EXPECT_EQ(all[i].text, good[i].text) << i;
      }
    }
    EXPECT_THAT(*all[3].error, HasSubstr("word 2 \"flies\""));
    EXPECT_THAT(*all[7].error, HasSubstr("top-p"));
    EXPECT_THAT(*all[20].error, HasSubstr("another vocabulary"));
  }
}

TEST_F(GeneratorTest, ARuleThatFailsInMidSentenceFailsAlone) {
  class NotTwice : public LogitRule {
   public:
    std::string_view name() const override { return "not twice"; }
    RuleOutcome apply(const DecodingStep& step, std::span<double>) const override {
      if (step.tokens.size() > 3) throw Error("too long");
      return {};
    }
  };
  auto requests = numbered({.grammar = builtin("one-clause"), .seed = 9}, 10);
  requests[4].rules = {std::make_shared<NotTwice>()};
  const std::vector<Generation> all = Generator(model_).generate(requests);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].error.has_value(), i == 4) << i;
  EXPECT_EQ(*all[4].error, "too long");
  EXPECT_EQ(all[4].words.size(), 3u);  // "Alice reviews the", as far as it came.
}

TEST_F(GeneratorTest, WhatTheCallbackThrowsReachesTheCaller) {
  const auto requests = numbered({.grammar = builtin("one-clause")}, 5);
  for (const std::size_t threads : {1, 2}) {
    const Generator generator(model_, threads);
    EXPECT_THROW(generator.generate(requests, [](std::size_t, const GeneratedToken&) -> bool { throw Error("mine"); }),
                 Error);
    EXPECT_THROW(
        generator.generate(requests, [](std::size_t, const GeneratedToken&) -> bool { throw std::logic_error("x"); }),
        std::logic_error);
  }
}

TEST_F(GeneratorTest, ARuleThatWritesNoNumberIsNamed) {
  class Writes : public LogitRule {
   public:
    explicit Writes(double value) : value_(value) {}
    std::string_view name() const override { return "my classifier"; }
    RuleOutcome apply(const DecodingStep&, std::span<double> logits) const override {
      logits[5] = value_;
      return {};
    }

   private:
    double value_;
  };
  EXPECT_THAT(failure({.rules = {std::make_shared<Writes>(NAN)}}), HasSubstr("\"my classifier\""));
  EXPECT_THAT(failure({.rules = {std::make_shared<Writes>(INFINITY)}}), HasSubstr("\"my classifier\""));
}

TEST_F(GeneratorTest, TheCallbackSeesEveryTokenInOrderAndMayStop) {
  std::mutex mutex;
  std::map<std::size_t, std::vector<std::string>> seen;
  const auto requests = numbered({.grammar = builtin("one-clause")}, 30);
  const auto all = Generator(model_, 2).generate(requests, [&](std::size_t request, const GeneratedToken& token) {
    const std::lock_guard lock(mutex);
    seen[request].push_back(token.word);
    return request != 5 || seen[request].size() < 3;
  });
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(seen[i].size(), all[i].tokens.size());
    for (std::size_t t = 0; t < seen[i].size(); ++t) EXPECT_EQ(seen[i][t], all[i].tokens[t].word);
  }
  EXPECT_EQ(all[5].finish, Generation::Finish::stopped);
  EXPECT_EQ(all[5].words.size(), 3u);
}

TEST_F(GeneratorTest, ExplainsWhatBecameOfTheProbability) {
  const GenerationRequest request{.grammar = builtin("one-clause"),
                                  .sampling = {.top_k = 2},
                                  .rules = control_rules({.pos_high = 0.95}, {.top_k = 2}, model_),
                                  .explain = true};
  const Generation generation = Generator(model_).generate(request);
  const std::vector<float> logits = model_.logits({});
  for (std::size_t t = 0; t < generation.tokens.size(); ++t) {
    ASSERT_TRUE(generation.tokens[t].explanation.has_value());
    const TokenExplanation& e = *generation.tokens[t].explanation;
    EXPECT_NEAR(e.grammar, e.model / (1.0 - e.removed_by_grammar), 1e-9) << t;
    EXPECT_NEAR(std::log(e.sampler), generation.tokens[t].log_probability, 1e-12) << t;
    EXPECT_FALSE(e.model_choices.empty());
    EXPECT_GE(e.model_choices.front().probability, e.model);
  }
  EXPECT_GT(generation.tokens[6].explanation->removed_by_rules, 0.0);
  EXPECT_EQ(generation.tokens[6].explanation->slot, "adjective");
  EXPECT_EQ(generation.tokens[8].explanation->slot, "");
  EXPECT_GT(generation.tokens[0].explanation->removed_by_sampler, 0.0);
}

TEST_F(GeneratorTest, RefusesOptionsOutOfRange) {
  EXPECT_THAT(failure({.sampling = {.temperature = -1.0}}), HasSubstr("temperature"));
  EXPECT_THAT(failure({.sampling = {.temperature = NAN}}), HasSubstr("temperature"));
  EXPECT_THAT(failure({.sampling = {.top_p = 0.0}}), HasSubstr("top-p"));
  EXPECT_THAT(failure({.sampling = {.top_p = 1.5}}), HasSubstr("top-p"));
  EXPECT_THAT(failure({.repetition = {.penalty = 0.5}}), HasSubstr("penalty"));
  EXPECT_THAT(failure({.rules = control_rules({.pos_high = 0.5}, {}, model_)}), HasSubstr("grammar"));
  EXPECT_THAT(failure({.max_tokens = 0}), HasSubstr("max-tokens"));
}

TEST(GenerationPreset, RefusesAnUnknownName) {
  EXPECT_THROW(generation_preset("paper-positiv"), Error);
}

TEST(GeneratorOfADamagedModel, RefusesLogitsThatAreNotFinite) {
  LanguageModel model = random_model(small_options(AttentionMask::causal, false));
  ModelAccess::change_weights(model, [](ParameterBlock& weights) { std::fill_n(weights.data(), 40, NAN); });
  EXPECT_THROW(Generator(model).generate(GenerationRequest{}), Error);
}

}  // namespace
}  // namespace semfuse
