#include "paper/control_counts.h"

#include <gtest/gtest.h>

#include <set>

#include "semfuse/synthetic_corpus.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

Generation generation_of(const std::string& text) {
  Generation generation;
  generation.text = text;
  generation.words = split_words(text);
  return generation;
}

TEST(ControlCounts, OfSentencesMadeByHand) {
  const std::vector<Generation> generations = {
      generation_of("Alice reviews the paper, very good!"),      // positive
      generation_of("Alice reviews the paper, very great."),     // positive, held out
      generation_of("Bob cooks the meal, slightly awful?"),      // negative, held out
      generation_of("Bob cooks the meal, slightly terrible?"),   // negative, held out
      generation_of("Bob cooks the meal, slightly bad!"),        // negative
      generation_of("Carol starts the task, good extremely!"),   // other: the adjective stands elsewhere
      generation_of("Carol starts the task, very marvellous?"),  // other: the lexicon lacks it
  };
  const ControlCounts counts = count_controls(synthetic_lexicon(), generations, paper_held_out_words());
  EXPECT_EQ(counts.trials, 7U);
  EXPECT_EQ(counts.positive, 2U);
  EXPECT_EQ(counts.negative, 3U);
  EXPECT_EQ(counts.other, 2U);
  EXPECT_EQ(counts.held_out, 3U);
  EXPECT_EQ(counts.exclamation, 3U);
  EXPECT_EQ(counts.question, 3U);
}

TEST(ControlCounts, SentencesWithoutAdjectiveAreOther) {
  const std::vector<Generation> generations = {generation_of(""), generation_of("good"), generation_of("!"),
                                               generation_of("very ?")};
  // A held-out word counts as such only where an adjective stands.
  const ControlCounts counts = count_controls(synthetic_lexicon(), generations, {"very", "good"});
  EXPECT_EQ(counts.trials, 4U);
  EXPECT_EQ(counts.other, 4U);
  EXPECT_EQ(counts.positive + counts.negative + counts.held_out, 0U);
  EXPECT_EQ(counts.exclamation, 1U);
  EXPECT_EQ(counts.question, 1U);
}

TEST(ControlCounts, AnAdjectiveWithoutPolarityIsOther) {
  const Lexicon lexicon({{.word = "green", .word_class = WordClass::kAdjective},
                         {.word = "mild", .word_class = WordClass::kAdjective, .polarity = 0.1},
                         {.word = "harsh", .word_class = WordClass::kAdjective, .polarity = -0.1}});
  const ControlCounts counts = count_controls(
      lexicon, {generation_of("green."), generation_of("mild."), generation_of("harsh.")}, {"green", "mild"});
  EXPECT_EQ(counts.other, 1U);
  EXPECT_EQ(counts.positive, 1U);
  EXPECT_EQ(counts.negative, 1U);
  EXPECT_EQ(counts.held_out, 1U);
}

TEST(ControlCounts, OfNothing) {
  const ControlCounts counts = count_controls(synthetic_lexicon(), {}, {});
  EXPECT_EQ(counts.trials, 0U);
  EXPECT_EQ(counts.other, 0U);
}

TEST(GenerateMany, AreTheFirstSentencesOfTheSeed) {
  const LanguageModel model = random_model(small_options(AttentionMask::causal, false));
  const Generator generator(model, 2);
  GenerationRequest request{.max_tokens = 6, .seed = 9};
  request.index = 4;  // Does not matter.
  const std::vector<Generation> many = generate_many(generator, request, 8);
  ASSERT_EQ(many.size(), 8U);
  std::set<std::string> texts;
  for (std::size_t i = 0; i < many.size(); ++i) {
    request.index = i;
    EXPECT_EQ(many[i].words, generator.generate(request).words) << i;
    texts.insert(many[i].text);
  }
  EXPECT_GT(texts.size(), 1U);
  EXPECT_TRUE(generate_many(generator, request, 0).empty());
}

}  // namespace
}  // namespace semfuse
