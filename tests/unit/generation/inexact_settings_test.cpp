#include "generation/inexact_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "semfuse/class_words.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class InexactSettings : public testing::Test {
 protected:
  InexactSettings() : model_(random_model(options())) { model_.set_knob_support({{"size", {8.0, 16.0}}}); }
  static ModelOptions options() {
    ModelOptions options = small_options(AttentionMask::causal, true);
    options.knobs = {parse_knob("polarity: probability of polarity"),
                     parse_knob("size: scalar of length from 8 to 16")};
    return options;
  }
  std::vector<std::string> lines(const std::vector<std::string>& knobs, GenerationRequest request = {}) const {
    for (const std::string& text : knobs) request.knobs.push_back(parse_setting(model_.options().knobs, text));
    return inexact_settings(model_, request);
  }

  LanguageModel model_;
};

TEST_F(InexactSettings, NoneWhereSettingsHold) {
  EXPECT_THAT(lines({}), IsEmpty());
  EXPECT_THAT(lines({}, {.sampling = {.temperature = 0.0}}), IsEmpty());
  EXPECT_THAT(lines({"polarity=0.7"}, {.sampling = {.temperature = 0.5, .top_k = 3, .top_p = 0.9}}), IsEmpty());
  EXPECT_THAT(lines({"polarity=0.7", "size=16"}, {.guidance = 2.0}), IsEmpty());
  EXPECT_THAT(lines({"polarity=0.7", "size=12"}, {.sampling = {.temperature = 0.0}, .guidance = 0.0}), IsEmpty());
}

TEST_F(InexactSettings, GreedyChoiceHasNoShares) {
  EXPECT_THAT(lines({"polarity=0.7"}, {.sampling = {.temperature = 0.0}}),
              ElementsAre(AllOf(HasSubstr("polarity will not hold"), HasSubstr("most probable"))));
}

TEST_F(InexactSettings, ALengthIsNoWords) {
  EXPECT_THAT(lines({"size=8", "polarity=1"}, {.sampling = {.top_p = 0.9}}),
              ElementsAre(HasSubstr("size will not hold exactly: a length")));
}

TEST_F(InexactSettings, RulesActAfterTheModel) {
  EXPECT_THAT(lines({"size=8", "polarity=1"}, {.repetition = {.penalty = 1.2}}),
              ElementsAre(HasSubstr("size, polarity will not hold exactly")));
}

TEST_F(InexactSettings, AValueThatNoTrainingSentenceHas) {
  EXPECT_THAT(lines({"size=12"}),
              ElementsAre("no training sentence has a size between 8 and 16, so size=12 cannot be asked for"));
}

TEST_F(InexactSettings, SettingsOfRulesCountToo) {
  GenerationRequest request{.sampling = {.temperature = 0.0}};
  request.grammar = std::make_shared<CompiledGrammar>(
      Grammar::parse("root ::= @adjective[polarity=0.9] \" \" @adjective[polarity=0.8]", "g",
                     words_of(model_.feature_bank().lexicon())),
      TokenSurfaces::of(model_.vocabulary()));
  EXPECT_THAT(lines({}, request), ElementsAre(HasSubstr("polarity will not hold")));
}

}  // namespace
}  // namespace semfuse
