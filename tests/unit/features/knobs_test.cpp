#include "semfuse/knobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<Knob>& three_knobs() {
  static const std::vector<Knob> knobs = {parse_knob("polarity: probability of polarity"),
                                          parse_knob("strength: scalar of strength from 0.2 to 1"),
                                          parse_knob("mark: distribution of final_mark over . ! ?")};
  return knobs;
}

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("\n")));
    return error.what();
  }
  return "no error";
}

TEST(Knob, IsReadAndWrittenAsText) {
  for (const char* text : {"polarity: probability of polarity", "strength: scalar of strength from 0.2 to 1",
                           "size: scalar of length from 8 to 16", "mark: distribution of final_mark over . ! ?"}) {
    EXPECT_EQ(to_string(parse_knob(text)), text);
    EXPECT_EQ(parse_knob(to_string(parse_knob(text))), parse_knob(text));
  }
  const Knob& mark = three_knobs()[2];
  EXPECT_EQ(mark.kind, KnobKind::distribution);
  EXPECT_THAT(mark.labels, ElementsAre(".", "!", "?"));
  EXPECT_EQ(mark.num_values(), 3u);
}

TEST(Knob, RefusesWhatIsNone) {
  for (const char* text : {"",
                           "polarity",
                           ": probability of polarity",
                           "Polarity: probability of polarity",
                           "p: chance of polarity",
                           "p: probability",
                           "p: probability of",
                           "p: probability of final_mark",
                           "p: probability of length",
                           "p: probability of polarity over a b",
                           "s: scalar of strength",
                           "s: scalar of strength from 1 to 0",
                           "s: scalar of strength from a to 1",
                           "s: scalar of strength from 0 to inf",
                           "s: scalar of strength from -1e300 to 1e300",
                           "s: scalar of strength from 0 to 1e-310",
                           "s: scalar of final_mark from 0 to 1",
                           "m: distribution of final_mark over .",
                           "m: distribution of final_mark over . .",
                           "m: distribution of polarity over . !",
                           "m: distribution of final_mark over . \x01"}) {
    EXPECT_THAT(error_of([&] { parse_knob(text); }), HasSubstr("knob ")) << text;
  }
}

TEST(Knob, NumbersMayHaveASign) {
  const Knob side = parse_knob("side: scalar of column side from -1 to +1");
  EXPECT_EQ(read_cell(side, "+1").value, 1.0);
  EXPECT_EQ(read_cell(side, "-1").value, -1.0);
  EXPECT_EQ(parse_setting({&side, 1}, "side=+0.5").values, std::vector{0.5});
  EXPECT_THAT(error_of([&] { read_cell(side, "+-1"); }), HasSubstr("which is no number"));
}

TEST(Knob, NamesAreDifferent) {
  const std::vector<Knob> twice(2, three_knobs()[0]);
  EXPECT_THAT(error_of([&] { check_knobs(twice); }), HasSubstr("two knobs are called polarity"));
  std::vector<Knob> many;
  for (int i = 0; i < 9; ++i) many.push_back(parse_knob("k" + std::to_string(i) + ": probability of polarity"));
  EXPECT_THAT(error_of([&] { check_knobs(many); }), HasSubstr("8 at most"));
}

TEST(Knob, ReadsWhatASentenceShows) {
  const Lexicon lexicon = synthetic_lexicon();
  const Sentence sentence = split_words("Alice cooks the meal, slightly good and she starts the task, very awful!");
  const KnobLabel polarity = read_label(three_knobs()[0], sentence, lexicon);
  EXPECT_EQ(polarity.positive, 1u);
  EXPECT_EQ(polarity.negative, 1u);
  EXPECT_DOUBLE_EQ(read_label(three_knobs()[1], sentence, lexicon).value.value(), 0.5);
  EXPECT_EQ(read_label(three_knobs()[2], sentence, lexicon).label, 1u);
  EXPECT_DOUBLE_EQ(read_label(parse_knob("n: scalar of length from 1 to 20"), sentence, lexicon).value.value(), 16.0);

  const Sentence nothing = {"the"};
  EXPECT_EQ(read_label(three_knobs()[0], nothing, lexicon).positive, 0u);
  EXPECT_FALSE(read_label(three_knobs()[1], nothing, lexicon).value);
  EXPECT_FALSE(read_label(three_knobs()[2], nothing, lexicon).label);
  EXPECT_FALSE(read_label(three_knobs()[2], {}, lexicon).label);
}

TEST(Knob, ReadsAnAttributeOfTheUsersOwn) {
  const Lexicon lexicon =
      Lexicon::parse("word\tclass\tformality\nhi\tother\t-1\nhello\tother\t0.5\nyou\tother\n", "l.tsv");
  const Knob knob = parse_knob("formality: probability of formality");
  const KnobLabel label = read_label(knob, {"hi", "hello", "you", "hello"}, lexicon);
  EXPECT_EQ(label.positive, 2u);
  EXPECT_EQ(label.negative, 1u);
}

TEST(KnobSetting, IsRead) {
  EXPECT_EQ(parse_setting(three_knobs(), "polarity=0.7"), (KnobSetting{"polarity", {0.7}}));
  EXPECT_EQ(parse_setting(three_knobs(), "strength=1"), (KnobSetting{"strength", {1.0}}));
  EXPECT_EQ(parse_setting(three_knobs(), "mark=?:0.6,.:0.4"), (KnobSetting{"mark", {0.4, 0.0, 0.6}}));
  EXPECT_EQ(parse_setting(three_knobs(), "mark=!"), (KnobSetting{"mark", {0.0, 1.0, 0.0}}));
  EXPECT_EQ(to_string(three_knobs(), parse_setting(three_knobs(), "mark=?:0.6,.:0.4")), "mark=.:0.4,?:0.6");
  EXPECT_EQ(to_string(three_knobs(), parse_setting(three_knobs(), "polarity=0.7")), "polarity=0.7");
}

TEST(KnobSetting, SaysWhatIsAllowed) {
  const auto refusal = [](const char* text) { return error_of([&] { parse_setting(three_knobs(), text); }); };
  EXPECT_THAT(refusal("polarity"), HasSubstr("write NAME=VALUE"));
  EXPECT_THAT(refusal("polarty=0.5"), HasSubstr("did you mean \"polarity\""));
  EXPECT_THAT(refusal("length=0.5"), HasSubstr("polarity, strength, mark"));
  EXPECT_THAT(refusal("pos_high=0.5"), HasSubstr("polarity, strength, mark"));
  EXPECT_THAT(refusal("polarity=1.5"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(refusal("polarity=nan"), HasSubstr("is no number"));
  EXPECT_THAT(refusal("polarity="), HasSubstr("is no number"));
  EXPECT_THAT(refusal("strength=0.1"), HasSubstr("from 0.2 to 1"));
  EXPECT_THAT(refusal("mark=0.5"), HasSubstr("it takes one label, or .:WEIGHT"));
  EXPECT_THAT(refusal("mark=.:0.5"), HasSubstr("sum to 0.5"));
  EXPECT_THAT(refusal("mark=.:0.5,!:0.6"), HasSubstr("sum to 1.1"));
  EXPECT_THAT(refusal("mark=.:1.5,!:-0.5"), HasSubstr("out of range"));
  EXPECT_THAT(refusal("mark=.:0.5,.:0.5"), HasSubstr("two weights"));
  EXPECT_THAT(refusal("mark=.:x"), HasSubstr("is no number"));
  EXPECT_THAT(error_of([] { parse_setting({}, "polarity=1"); }), HasSubstr("has no knobs"));
}

TEST(KnobRequest, IsZeroUnlessStated) {
  const std::vector<float> nothing = request_row(three_knobs(), {});
  EXPECT_EQ(nothing.size(), request_columns(three_knobs()));
  EXPECT_THAT(nothing, ::testing::Each(0.0f));

  const std::vector<float> strength = request_row(three_knobs(), std::vector<KnobSetting>{{"strength", {0.2}}});
  const std::size_t first = request_columns(std::span(three_knobs()).first(1));
  const std::size_t end = request_columns(std::span(three_knobs()).first(2));
  for (std::size_t i = 0; i < strength.size(); ++i) {
    const bool expected = i == first || i == first + 1;  // Stated, and at its lowest centre.
    EXPECT_EQ(strength[i], expected ? 1.0f : 0.0f) << i;
    EXPECT_TRUE(!expected || i < end);
  }
}

TEST(KnobRequest, IsGradedWithinZeroAndOne) {
  std::vector<float> before;
  for (double x = 0.0; x <= 1.0; x += 1.0 / 64.0) {
    const std::vector<KnobSetting> settings = {{"polarity", {x}}, {"mark", {x, 1.0 - x, 0.0}}};
    const std::vector<float> row = request_row(three_knobs(), settings);
    for (const float value : row) EXPECT_TRUE(value >= 0.0f && value <= 1.0f) << x;
    EXPECT_NE(row, before);
    before = row;
  }
}

TEST(KnobRequest, RefusesASettingTwice) {
  const std::vector<KnobSetting> twice = {{"polarity", {0.1}}, {"polarity", {0.2}}};
  EXPECT_THAT(error_of([&] { request_row(three_knobs(), twice); }), HasSubstr("set twice"));
  const std::vector<KnobSetting> short_one = {{"mark", {1.0}}};
  EXPECT_THAT(error_of([&] { request_row(three_knobs(), short_one); }), HasSubstr("1 values"));
  const std::vector<KnobSetting> bad = {{"polarity", {std::numeric_limits<double>::quiet_NaN()}}};
  EXPECT_THAT(error_of([&] { request_row(three_knobs(), bad); }), HasSubstr("out of range"));
}

TEST(Knobs, MayBeOfAColumn) {
  for (const char* text : {"stars: scalar of column stars from 1 to 5", "kind: probability of column Label",
                           "topic: distribution of column topic over sport, world news, science",
                           "score: scalar of column \"my score\" from 0 to 10"}) {
    const Knob knob = parse_knob(text);
    EXPECT_TRUE(knob.of_column) << text;
    EXPECT_EQ(to_string(knob), text);
  }
  EXPECT_EQ(parse_knob("a: scalar of column \"my score\" from 0 to 1").source, "my score");
  EXPECT_EQ(parse_knob("topic: distribution of column topic over a b").labels, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(parse_knob("topic: distribution of column topic over a b, c").labels,
            (std::vector<std::string>{"a b", "c"}));
  EXPECT_FALSE(parse_knob("a: probability of column").of_column);
  for (const char* text : {"a: scalar of column \"my score from 0 to 1", "a: distribution of column t over x",
                           "a: distribution of column t over x, x", "a: distribution of column t over x,, y"}) {
    EXPECT_THROW(parse_knob(text), Error) << text;
  }
}

TEST(Knobs, ReadCells) {
  const Knob stars = parse_knob("stars: scalar of column stars from 1 to 5");
  EXPECT_EQ(read_cell(stars, "4.5").value, 4.5);
  EXPECT_EQ(read_cell(stars, "").value, std::nullopt);
  for (const char* bad : {"6", "0", "good", "4 ", "nan", "1e999"}) EXPECT_THROW(read_cell(stars, bad), Error) << bad;
  const Knob kind = parse_knob("kind: probability of column kind");
  for (const char* yes : {"1", "1.0", "True", "YES", "pos", "Positive"}) EXPECT_EQ(read_cell(kind, yes).positive, 1U);
  for (const char* no : {"0", "false", "No", "neg", "NEGATIVE"}) EXPECT_EQ(read_cell(kind, no).negative, 1U);
  EXPECT_EQ(read_cell(kind, "").positive + read_cell(kind, "").negative, 0U);
  EXPECT_THROW(read_cell(kind, "2"), Error);
  const Knob topic = parse_knob("topic: distribution of column topic over sport, world news");
  EXPECT_EQ(read_cell(topic, "world news").label, 1U);
  EXPECT_EQ(read_cell(topic, "").label, std::nullopt);
  EXPECT_THROW(read_cell(topic, "World news"), Error);
  EXPECT_FALSE(read_label(topic, {"sport"}, Lexicon({})).label.has_value());
}

}  // namespace
}  // namespace semfuse
