#include "features/text_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "semfuse/error.h"

namespace semfuse {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

FeatureBank natural_bank() {
  return FeatureBank(Lexicon({{.word = "good", .word_class = WordClass::kAdjective, .polarity = 0.6},
                              {.word = "awful", .word_class = WordClass::kAdjective, .polarity = -1.0}}),
                     {.bank = FeatureSet::natural, .kernel = MembershipKernel::gaussian});
}

const std::vector<Knob>& knobs() {
  static const std::vector<Knob> list = {parse_knob("past: scalar of share past from 0 to 1"),
                                         parse_knob("i: scalar of share first_person from 0 to 0.5"),
                                         parse_knob("tone: scalar of polarity from -1 to 1"),
                                         parse_knob("n: scalar of length from 1 to 20"),
                                         parse_knob("mark: distribution of final_mark over . ! ?"),
                                         parse_knob("kind: probability of column kind"),
                                         parse_knob("tense: probability of feature past")};
  return list;
}

TEST(TextLabels, AreThoseOfTheWordsThatFeaturesAreOf) {
  const FeatureBank bank = natural_bank();
  const TextLabels reader(knobs(), bank);
  std::vector<KnobLabel> labels;
  reader.read("I didn't walk. I walked, Good or awful!!", labels);  // I didn't walk . I walked , Good or awful !!
  ASSERT_EQ(labels.size(), 7U);
  EXPECT_DOUBLE_EQ(*labels[0].value, 2.0 / 11.0);
  EXPECT_DOUBLE_EQ(*labels[1].value, 2.0 / 11.0);
  EXPECT_DOUBLE_EQ(*labels[2].value, -0.2);
  EXPECT_EQ(labels[3].value, 11.0);
  EXPECT_EQ(labels[4].label, 1U);
  EXPECT_EQ(labels[5].positive + labels[5].negative, 0U);
  EXPECT_EQ(labels[6].positive, 1U);  // Of the text, however many words it has.
  EXPECT_EQ(labels[6].negative, 0U);
  reader.read("I walk.", labels);
  EXPECT_EQ(labels[6].positive, 0U);
  EXPECT_EQ(labels[6].negative, 1U);
  reader.read("", labels);
  EXPECT_EQ(labels[6].positive + labels[6].negative, 0U);
  EXPECT_FALSE(labels[0].value);
  EXPECT_EQ(labels[3].value, 0.0);
  EXPECT_FALSE(labels[4].label);
}

TEST(TextLabels, WithoutFeaturesWordsAreThoseOfSentences) {
  const FeatureBank bank(Lexicon({{.word = "good", .word_class = "x", .polarity = 0.6}}), {.bank = FeatureSet::none});
  const TextLabels reader({knobs()[2], knobs()[3], knobs()[4]}, bank);
  std::vector<KnobLabel> labels;
  reader.read("I didn't. Good!!", labels);
  EXPECT_DOUBLE_EQ(*labels[0].value, 0.6);
  EXPECT_EQ(labels[1].value, static_cast<double>(split_words("I didn't. Good!!").size()));
  EXPECT_EQ(labels[2].label, 1U);
}

TEST(TextLabels, LastWordsAreReadAsTheyAreWritten) {
  const FeatureBank bank = natural_bank();
  const TextLabels reader({parse_knob("end: distribution of final_mark over OK Bye ...")}, bank);
  std::vector<KnobLabel> labels;
  for (const auto& [text, label] : {std::pair("It is OK", 0U), {"Now Bye", 1U}, {"Well ...", 2U}}) {
    reader.read(text, labels);
    EXPECT_EQ(labels[0].label, label) << text;
  }
  reader.read("It is ok", labels);
  EXPECT_FALSE(labels[0].label);
}

TEST(TextLabels, RefusesSharesOfWhatIsNoFeature) {
  const FeatureBank bank = natural_bank(), none(Lexicon({}), {.bank = FeatureSet::none});
  EXPECT_THAT([&] { TextLabels({parse_knob("p: scalar of share pst from 0 to 1")}, bank); },
              ThrowsMessage<Error>(HasSubstr("there is no feature \"pst\"; did you mean \"past\"?")));
  EXPECT_THAT([&] { TextLabels({knobs()[0]}, none); }, ThrowsMessage<Error>(HasSubstr("set features.bank")));
}

TEST(TextLabels, SharesAreWrittenAsTheyAreRead) {
  EXPECT_EQ(to_string(knobs()[0]), "past: scalar of share past from 0 to 1");
  EXPECT_EQ(parse_knob(to_string(knobs()[1])), knobs()[1]);
  EXPECT_EQ(feature_of(knobs()[1]), "first_person");
  // An attribute may be called share.
  EXPECT_EQ(feature_of(parse_knob("s: scalar of share from 0 to 1")), "");
  EXPECT_THAT([] { parse_knob("s: probability of share past"); },
              ThrowsMessage<Error>(HasSubstr("a share is a scalar")));
  EXPECT_THAT([] { parse_knob("s: scalar of share Past from 0 to 1"); },
              ThrowsMessage<Error>(HasSubstr("does not name")));
  EXPECT_EQ(to_string(knobs()[6]), "tense: probability of feature past");
  EXPECT_EQ(parse_knob(to_string(knobs()[6])), knobs()[6]);
  EXPECT_EQ(feature_of(knobs()[6]), "past");
  EXPECT_EQ(feature_of(parse_knob("s: probability of feature")), "");
  EXPECT_THAT([] { parse_knob("s: scalar of feature past from 0 to 1"); },
              ThrowsMessage<Error>(HasSubstr("a feature has a probability")));
  EXPECT_THAT([] { parse_knob("s: scalar of share past"); }, ThrowsMessage<Error>(HasSubstr("a scalar needs a range")));
}

TEST(TextLabels, CountAPhraseInsteadOfItsWords) {
  const Lexicon lexicon = Lexicon::parse("word\tclass\tpolarity\ngood\tword\t0.5\nnot_good\tphrase\t-1\n", "phrases");
  const FeatureBank bank(lexicon, {.bank = FeatureSet::natural, .kernel = MembershipKernel::gaussian});
  const TextLabels reader({parse_knob("tone: scalar of polarity from -1 to 1")}, bank);
  std::vector<KnobLabel> labels;
  reader.read("Not good, but good food.", labels);
  EXPECT_DOUBLE_EQ(*labels[0].value, -0.25);
  reader.read("not a good one", labels);
  EXPECT_DOUBLE_EQ(*labels[0].value, 0.5);
}

}  // namespace
}  // namespace semfuse
