// Settings that rules of a grammar carry: as written, where they hold, what a model is asked for.
#include "grammar/rule_settings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "semfuse/class_words.h"
#include "semfuse/error.h"
#include "semfuse/generator.h"
#include "semfuse/synthetic_corpus.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Grammar parse_settings(std::string_view gbnf) {
  return Grammar::parse(gbnf, "g", words_of(synthetic_lexicon()));
}

std::string settings_error_of(std::string_view gbnf) {
  try {
    parse_settings(gbnf);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::vector<std::string> written(const Grammar& grammar) {
  std::vector<std::string> settings;
  for (const RuleSetting& setting : grammar.settings())
    settings.push_back(fmt::format("{} {}={}", setting.where, setting.knob, setting.value));
  return settings;
}

TEST(RuleSettings, AreReadBehindNamesAndClasses) {
  EXPECT_THAT(
      written(parse_settings("root ::= a[polarity=0.9] @adjective[ polarity = 0.1 , strength=0.3 ] a[polarity=0.9]\n"
                             "a ::= \"x\" b[mark=?:0.6,.:0.4]\nb ::= \"y\"")),
      ElementsAre("g:1:12 polarity=0.9", "g:1:38 polarity=0.1", "g:1:55 strength=0.3", "g:2:13 mark=?:0.6,.:0.4"));
  EXPECT_THAT(written(parse_settings("root ::= a[mark=\\]:0.5,.:0.5]\na ::= \"x\"")),
              ElementsAre("g:1:12 mark=]:0.5,.:0.5"));
}

TEST(RuleSettings, DoNotChangeTheLanguage) {
  const Grammar grammar = parse_settings("root ::= a[k=1] | \"(\" root[k=2] \")\"\na ::= \"x\" a[j=3] | \"y\"");
  for (const char* text : {"y", "xxy", "((xy))"}) EXPECT_TRUE(grammar.match(text).accepted) << text;
  for (const char* text : {"", "x", "((y)"}) EXPECT_FALSE(grammar.match(text).accepted) << text;
}

TEST(RuleSettings, OtherBracketsAreCharacterClasses) {
  EXPECT_TRUE(parse_settings("root ::= a[0-9]\na ::= \"x\"").match("x7").accepted);
  EXPECT_TRUE(parse_settings("root ::= a [k=1]\na ::= \"x\"").match("x=").accepted);
  EXPECT_TRUE(parse_settings("root ::= a[=]\na ::= \"x\"").match("x=").accepted);
  EXPECT_TRUE(parse_settings("root ::= a[abc]\na ::= \"x\"").match("xb").accepted);
  EXPECT_TRUE(parse_settings("root ::= a[a-z=]\na ::= \"x\"").match("x=").accepted);
  EXPECT_TRUE(parse_settings("root ::= a[=abc] [A-Za-z0-9+/=]\na ::= \"x\"").match("xb=").accepted);
  EXPECT_TRUE(parse_settings("root ::= a[ab cd]\na ::= \"x\"").match("xd").accepted);
}

TEST(RuleSettings, MisplacedOrMisspeltOnesAreNoCharacterClasses) {
  const std::string rule = "\na ::= \"x\"";
  for (const char* text : {"a [polarity=0.9]", "(a)[polarity=0.9]", "\"x\"[polarity=0.9]", "a?[polarity=0.9]"}) {
    EXPECT_THAT(settings_error_of(std::string("root ::= ") + text + rule),
                HasSubstr("a setting stands right behind the name"))
        << text;
  }
  EXPECT_THAT(settings_error_of("root ::= a[polarity=0.9][strength=0.3]" + rule), HasSubstr("share a bracket"));
  EXPECT_THAT(settings_error_of("root ::= a[polarity 0.9]" + rule), HasSubstr("write a setting as [polarity=VALUE]"));
  EXPECT_THAT(settings_error_of("root ::= a[polarity: .9]" + rule), HasSubstr("write a setting as [polarity=VALUE]"));
}

TEST(RuleSettings, RefuseWhatIsNotWellFormed) {
  EXPECT_THAT(settings_error_of("root ::= a[k=\na ::= \"x\""), StartsWith("g:1:11: this setting is not closed"));
  EXPECT_THAT(settings_error_of("root ::= a[k=]\na ::= \"x\""), StartsWith("g:1:12: knob \"k\" is set to nothing"));
  EXPECT_THAT(settings_error_of("root ::= a[k=  ]\na ::= \"x\""), HasSubstr("set to nothing"));
  EXPECT_THAT(settings_error_of("root ::= a[k=1, k=2]\na ::= \"x\""), StartsWith("g:1:17: knob \"k\" is set twice"));
  EXPECT_THAT(settings_error_of("root ::= a[k=1 [.!?]\na ::= \"x\""), StartsWith("g:1:11: this setting is not closed"));
  EXPECT_THAT(settings_error_of("root[k=1] ::= \"x\""), HasSubstr("a rule is set where it is used"));
  EXPECT_THAT(settings_error_of("root ::= a[k=1"), HasSubstr("not closed"));
  EXPECT_THAT(settings_error_of("root ::= a[k=\\q]\na ::= \"x\""), HasSubstr("unknown escape"));
}

// Brackets are looked into, but not to the end of the text.
TEST(RuleSettings, ManyBracketsTakeNoTime) {
  std::string text = "root ::= \"x\"";
  for (int i = 0; i < 200'000; ++i) text += "a[b]";
  EXPECT_THAT(settings_error_of(text), HasSubstr("there is no rule"));
}

TEST(RuleSettings, AreLimited) {
  std::string many = "root ::= \"\"";
  for (std::uint32_t i = 0; i < kMaxContexts; ++i) many += fmt::format(" a[k={}]", i);
  EXPECT_THAT(settings_error_of(many + "\na ::= \"x\""), HasSubstr("settings combine in more than 31 ways"));
  std::string unused = "root ::= \"x\"\nb ::= \"\"";
  for (int i = 0; i < 300; ++i) unused += fmt::format(" a[k={}]", i);
  EXPECT_THAT(settings_error_of(unused + "\na ::= \"x\""), HasSubstr("more than 256 different settings"));
  // Knobs that combine in every way.
  std::string combined = "root ::= \"x\"";
  for (int i = 0; i < 6; ++i) combined += fmt::format(" | root[k{}=0] | root[k{}=1]", i, i);
  EXPECT_THAT(settings_error_of(combined), HasSubstr("settings combine in more than 31 ways"));
  EXPECT_THAT(settings_error_of("root ::= a[k=1] a[k=2] a[k=3]\na ::= \"" + std::string(500'000, 'x') + "\""),
              HasSubstr("its rules copied for each setting"));
}

class RuleSettingsHold : public testing::Test {
 protected:
  // What holds for the next word after a text: "knob=value".
  static std::vector<std::string> held_after(const std::string& gbnf, const std::string& text) {
    const Vocabulary vocabulary = Vocabulary::from_words(synthetic_corpus_words());
    const CompiledGrammar compiled(parse_settings(gbnf), TokenSurfaces::of(vocabulary));
    GrammarCursor cursor = compiled.begin();
    for (const std::string& word : split_words(text)) EXPECT_TRUE(cursor.advance(*vocabulary.find(word))) << word;
    std::vector<std::string> held;
    for (const std::size_t index : cursor.settings()) {
      const RuleSetting& setting = compiled.grammar().settings()[index];
      held.push_back(setting.knob + "=" + setting.value);
    }
    return held;
  }
};

TEST_F(RuleSettingsHold, ForTheWordsOfTheirRule) {
  const std::string gbnf =
      "root ::= @subject[a=0] \" reviews the paper, \" @intensifier[b=1] \" \" @adjective[c=2] [.!?]\n";
  EXPECT_THAT(held_after(gbnf, ""), ElementsAre("a=0"));
  EXPECT_THAT(held_after(gbnf, "Bob"), IsEmpty());
  EXPECT_THAT(held_after(gbnf, "Bob reviews the paper,"), ElementsAre("b=1"));
  EXPECT_THAT(held_after(gbnf, "Bob reviews the paper, very"), ElementsAre("c=2"));
  EXPECT_THAT(held_after(gbnf, "Bob reviews the paper, very good"), IsEmpty());
}

TEST_F(RuleSettingsHold, InnerOnesGoBeforeOuterOnes) {
  const std::string gbnf =
      "root ::= clause[a=0, b=0] [.!?]\nclause ::= @subject \" reviews the paper, \" @intensifier[b=1] \" \" "
      "@adjective[a=2, c=3]\n";
  EXPECT_THAT(held_after(gbnf, ""), ElementsAre("a=0", "b=0"));
  EXPECT_THAT(held_after(gbnf, "Bob reviews the paper,"), ElementsAre("a=0", "b=1"));
  EXPECT_THAT(held_after(gbnf, "Bob reviews the paper, very"), ElementsAre("b=0", "a=2", "c=3"));
}

TEST_F(RuleSettingsHold, OfAllAlternativesThatAreOpen) {
  const std::string mark = "root ::= @adjective (\" and\" | mark[m=1])\nmark ::= [.!?]";
  EXPECT_THAT(held_after(mark, "good"), ElementsAre("m=1"));
  const std::string same_words = "root ::= @adjective[k=1] \".\" | @adjective[k=2] \"!\"";
  EXPECT_THAT(held_after(same_words, ""), ElementsAre("k=1", "k=2"));
  const std::string other_words = "root ::= @adjective[k=1, j=5] | @subject[k=2, j=5]";
  EXPECT_THAT(held_after(other_words, ""), ElementsAre("k=1", "j=5", "k=2"));
}

TEST_F(RuleSettingsHold, ThroughRecursion) {
  const std::string gbnf = "root ::= list[k=1] \".\"\nlist ::= @adjective | @adjective \",\" \" \" list[k=2]";
  EXPECT_THAT(held_after(gbnf, ""), ElementsAre("k=1"));
  EXPECT_THAT(held_after(gbnf, "good,"), ElementsAre("k=2"));
  EXPECT_THAT(held_after(gbnf, "good, bad, poor,"), ElementsAre("k=2"));
}

class AskedByRules : public testing::Test {
 protected:
  static LanguageModel model_with_knobs() {
    ModelOptions options = small_options(AttentionMask::causal, true);
    options.knobs = {parse_knob("polarity: probability of polarity"),
                     parse_knob("mark: distribution of final_mark over . ! ?")};
    return random_model(options);
  }
  GenerationRequest request(const std::string& gbnf) const {
    GenerationRequest request{.max_tokens = 30, .seed = 5};
    request.grammar = std::make_shared<CompiledGrammar>(
        Grammar::parse(gbnf, "g", words_of(model_.feature_bank().lexicon())), TokenSurfaces::of(model_.vocabulary()));
    return request;
  }
  std::vector<Generation> many(GenerationRequest request, std::size_t threads = 1) const {
    std::vector<GenerationRequest> requests(100, request);
    for (std::size_t i = 0; i < requests.size(); ++i) requests[i].index = i;
    return Generator(model_, threads).generate(requests);
  }
  std::string failure(const std::string& gbnf) const {
    try {
      Generator(model_).generate(request(gbnf));
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  static void expect_same(const std::vector<Generation>& a, const std::vector<Generation>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].text, b[i].text);
      ASSERT_EQ(a[i].tokens.size(), b[i].tokens.size());
      for (std::size_t t = 0; t < a[i].tokens.size(); ++t)
        ASSERT_EQ(a[i].tokens[t].log_probability, b[i].tokens[t].log_probability);
    }
  }

  LanguageModel model_ = model_with_knobs();
  const std::string plain_ =
      "root ::= @subject \" \" @verb \" the \" @object \", \" @intensifier \" \" @adjective [.!?]";
};

TEST_F(AskedByRules, ASettingOfTheWholeIsASettingOfTheSentence) {
  for (const double guidance : {0.0, 1.0, 2.5}) {
    GenerationRequest by_rule = request("root ::= all[polarity=0.9]\nall" + plain_.substr(4));
    GenerationRequest by_request = request(plain_);
    by_request.knobs = {parse_setting(model_.options().knobs, "polarity=0.9")};
    by_rule.guidance = by_request.guidance = guidance;
    expect_same(many(by_rule), many(by_request));
  }
}

// The distribution of a word is the one that the model has if the setting is asked for from the beginning.
TEST_F(AskedByRules, AWordIsDrawnAsIfTheWholeTextWereAskedFor) {
  GenerationRequest by_rule =
      request("root ::= \"Bob reviews the paper, very \" @adjective[polarity=0.9] mark[mark=?:1]\nmark ::= [.!?]");
  by_rule.explain = true;
  const Generation generation = Generator(model_).generate(by_rule);
  const auto expected = [&](const std::string& knob, const std::string& prompt) {
    GenerationRequest asked{.prompt = prompt, .max_tokens = 30, .seed = 5, .explain = true};
    asked.knobs = {parse_setting(model_.options().knobs, knob)};
    return Generator(model_).generate(asked).tokens.front().explanation->model_choices;
  };
  const auto compare = [](const std::vector<TokenExplanation::Choice>& a,
                          const std::vector<TokenExplanation::Choice>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].word, b[i].word);
      EXPECT_EQ(a[i].probability, b[i].probability);
    }
  };
  ASSERT_EQ(generation.tokens.size(), 9u);
  const TokenExplanation& adjective = *generation.tokens[6].explanation;
  const TokenExplanation& mark = *generation.tokens[7].explanation;
  EXPECT_THAT(adjective.settings, ElementsAre("polarity=0.9"));
  EXPECT_THAT(mark.settings, ElementsAre("mark=?:1"));
  EXPECT_THAT(generation.tokens[0].explanation->settings, IsEmpty());
  compare(adjective.model_choices, expected("polarity=0.9", "Bob reviews the paper, very"));
  compare(mark.model_choices, expected("mark=?:1", "Bob reviews the paper, very " + generation.tokens[6].word));
}

TEST_F(AskedByRules, ASettingHoldsWhereNoOtherValueIsSet) {
  const auto held = [&](const std::string& gbnf) {
    GenerationRequest asked = request(gbnf);
    asked.explain = true;
    return Generator(model_).generate(asked).tokens[0].explanation->settings;
  };
  EXPECT_THAT(held("root ::= @adjective[polarity=0.9] | @subject"), ElementsAre("polarity=0.9"));
  EXPECT_THAT(held("root ::= @adjective[polarity=0.9] | @adjective[polarity=0.1]"), IsEmpty());
  EXPECT_THAT(held("root ::= @adjective[polarity=0.9, mark=?:1] | @subject[polarity=0.1]"), ElementsAre("mark=?:1"));
  // Values, not what is written.
  EXPECT_THAT(held("root ::= @adjective[polarity=0.9] | @adjective[polarity=0.90]"), ElementsAre("polarity=0.9"));
  EXPECT_THAT(held("root ::= @adjective[mark=?:0.5,.:0.5] | @subject[mark=.:0.5,?:0.5]"),
              ElementsAre("mark=.:0.5,?:0.5"));
}

// Streams of requests that come back after a while read the text again.
TEST_F(AskedByRules, ManyRequestsInOneSentence) {
  std::string gbnf = "root ::= \"good\"";
  const std::vector<std::string> values = {"0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.1", "0.3", "0.6", "0.2"};
  std::string same_without = gbnf;
  for (const std::string& value : values) {
    gbnf += " \" \" @adjective[polarity=" + value + "]";
    same_without += " \" \" @adjective";
  }
  for (const double guidance : {1.0, 2.0}) {
    GenerationRequest by_rule = request(gbnf);
    by_rule.explain = true;
    by_rule.guidance = guidance;
    const Generation generation = Generator(model_).generate(by_rule);
    ASSERT_EQ(generation.words.size(), 1 + values.size());
    std::string text = "good";
    for (std::size_t i = 0; i < values.size(); ++i) {
      GenerationRequest asked = request(same_without);
      asked.prompt = text;
      asked.guidance = guidance;
      asked.explain = true;
      asked.knobs = {parse_setting(model_.options().knobs, "polarity=" + values[i])};
      EXPECT_EQ(generation.tokens[i + 1].explanation->model_choices[0].probability,
                Generator(model_).generate(asked).tokens.front().explanation->model_choices[0].probability)
          << i;
      text += " " + generation.words[i + 1];
    }
  }
}

TEST_F(AskedByRules, TheSameForAnyNumberOfThreadsAndAloneOrInABatch) {
  GenerationRequest asked = request(
      "root ::= @subject \" \" @verb \" the \" @object \", \" @intensifier \" \" @adjective[polarity=0.9] \" and she "
      "\" "
      "@verb[polarity=0.3] \" the \" @object \", \" @intensifier \" \" @adjective[polarity=0.1] "
      "mark[mark=?:0.5,.:0.5]\n"
      "mark ::= [.!?]");
  for (const double guidance : {1.0, 2.0}) {
    asked.guidance = guidance;
    asked.knobs = {parse_setting(model_.options().knobs, "polarity=0.5")};
    const std::vector<Generation> all = many(asked);
    expect_same(many(asked, 3), all);
    const Generator generator(model_);
    for (std::size_t i = 0; i < all.size(); i += 9) {
      asked.index = i;
      expect_same({generator.generate(asked)}, {all[i]});
    }
  }
}

TEST_F(AskedByRules, RefusesWhatTheModelCannotBeAskedForWithThePlace) {
  EXPECT_THAT(failure("root ::= @adjective[polarity=1.5]"), StartsWith("g:1:21: knob polarity: 1.5 is out of range"));
  EXPECT_THAT(failure("root ::= @adjective[warmth=1]"), StartsWith("g:1:21: unknown knob \"warmth\""));
  EXPECT_THAT(failure("root ::= @adjective[pos_high=1]"), StartsWith("g:1:21: unknown knob \"pos_high\""));
  EXPECT_THAT(failure("root ::= @adjective[polarity=0.9; mark=?:1]"), HasSubstr("is no number"));
}

}  // namespace
}  // namespace semfuse
