#include "study/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "semfuse/error.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const Knob kKind = parse_knob("kind: probability of column kind");

std::string reviews(int count) {
  std::string text = "text\tkind\n";
  for (int i = 0; i < count; ++i) text += "text " + std::to_string(i) + (i % 2 == 0 ? " is good\t1\n" : " is bad\t0\n");
  return text;
}

TEST(ArenaTexts, NoTextPlaysTwoParts) {
  const TemporaryFolder folder;
  std::ofstream(folder / "reviews.tsv") << reviews(3000);
  const ArenaTexts texts = read_arena_texts({folder / "reviews.tsv"}, {}, kKind);
  std::set<std::string> all;
  std::size_t count = 0;
  for (const auto* part : {&texts.model, &texts.judge_a, &texts.judge_b, &texts.test}) {
    for (const ArenaText& text : *part) {
      all.insert(text.text);
      EXPECT_EQ(text.positive, text.text.ends_with("good"));
    }
    count += part->size();
  }
  EXPECT_EQ(count, 3000U);
  EXPECT_EQ(all.size(), 3000U);
  EXPECT_NEAR(static_cast<double>(texts.model.size()), 1800.0, 120.0);
  EXPECT_NEAR(static_cast<double>(texts.test.size()), 150.0, 50.0);
}

TEST(ArenaTexts, TooFewTextsAndOtherKnobsAreRefused) {
  const TemporaryFolder folder;
  std::ofstream(folder / "reviews.tsv") << reviews(100);
  EXPECT_THAT([&] { read_arena_texts({folder / "reviews.tsv"}, {}, kKind); },
              ThrowsMessage<Error>(HasSubstr("give more texts")));
  const Knob length = parse_knob("length: scalar of length from 1 to 9");
  EXPECT_THAT([&] { read_arena_texts({folder / "reviews.tsv"}, {}, length); },
              ThrowsMessage<Error>(HasSubstr("probability of a column")));
}

TEST(ArenaTexts, PromptsAreFirstWords) {
  EXPECT_EQ(first_words("the soup, was hot", 3), "the soup,");
  EXPECT_EQ(first_words("one", 3), "one");
  EXPECT_EQ(first_words("", 3), "");
}

TEST(Arena, ARunIsReadAsItWasWritten) {
  ArenaRun run{.method = "gedi", .seed = 3, .judge = "cafe", .parameters = 7, .training_seconds = 1.5};
  run.points.push_back({.strength = 2.0,
                        .positive = {.control = 0.9, .flip = 0.5, .perplexity = 40, .length = 7, .distinct = {1, 2, 3}},
                        .negative = {.control = 0.8},
                        .microseconds = 12});
  run.levels = ArenaLevels{{0.0, 0.5, 1.0}, {0.1, 0.5, 0.7}};
  const ArenaRun again = parse_arena_run(to_json(run), "here");
  EXPECT_EQ(to_json(again), to_json(run));
  EXPECT_DOUBLE_EQ(again.points.front().control(), 0.8);
  EXPECT_DOUBLE_EQ(again.levels->mean_error(), 0.4 / 3);
  EXPECT_DOUBLE_EQ(again.levels->largest_error(), 0.3);
  for (const char* text : {"{}", "[]", "{\"method\":1}", "no"}) EXPECT_THROW(parse_arena_run(text, "here"), Error);
}

TEST(Arena, MethodsHaveNames) {
  EXPECT_EQ(arena_method("gedi").title, "GeDi");
  EXPECT_THAT([] { arena_method("gedy"); }, ThrowsMessage<Error>(HasSubstr("gedi")));
  const std::vector<double> wanted = {1.0, 9.0};
  EXPECT_THAT(strengths_of(arena_method("gedi"), {.strengths = wanted}), testing::ElementsAre(1.0, 9.0));
  EXPECT_THAT(strengths_of(arena_method("ctrl"), {.strengths = wanted}), testing::ElementsAre(1.0));
}

}  // namespace
}  // namespace semfuse
