// Whatever the grammar, the vocabulary and the model: what is generated is in the language.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/random.h"
#include "semfuse/class_words.h"
#include "semfuse/error.h"
#include "semfuse/generator.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

const std::vector<std::string> kWords = {"a", "ab", "b", "ba", "cat", "catalogue", "dog", ",", ".", "!", "the", "then"};

std::string random_expression(RandomStream& random, int depth, std::size_t num_rules) {
  switch (random.next_below(depth > 0 ? 8 : 3)) {
    case 0:
    case 1: {
      const std::string& word = kWords[random.next_below(kWords.size())];
      const bool mark = word == "," || word == "." || word == "!";
      return fmt::format("\"{}{}\"", mark ? "" : " ", word);
    }
    case 2:
      return fmt::format("r{}", random.next_below(num_rules));
    case 3:
      return fmt::format("({} | {})", random_expression(random, depth - 1, num_rules),
                         random_expression(random, depth - 1, num_rules));
    case 4:
      return fmt::format("({}){}", random_expression(random, depth - 1, num_rules),
                         std::vector<std::string>{"?", "*", "+", "{0,2}"}[random.next_below(4)]);
    case 5:
      return fmt::format("\" \" [{}] [a-z]*", std::vector<std::string>{"a-c", "abd", "^a", "ct"}[random.next_below(4)]);
    default:
      return fmt::format("{} {}", random_expression(random, depth - 1, num_rules),
                         random_expression(random, depth - 1, num_rules));
  }
}

std::string random_grammar(RandomStream& random) {
  const std::size_t num_rules = 1 + random.next_below(3);
  std::string text =
      fmt::format("root ::= \"{}\" {}\n", kWords[random.next_below(7)], random_expression(random, 2, num_rules));
  for (std::size_t r = 0; r < num_rules; ++r) {
    text += fmt::format("r{} ::= {} | \"{}\"\n", r, random_expression(random, 2, num_rules),
                        random.next_below(2) ? "." : " dog");
  }
  return text;
}

Vocabulary random_vocabulary(RandomStream& random) {
  std::vector<std::string> words;
  for (const std::string& word : kWords) {
    if (random.next_below(5) > 0) words.push_back(word);
  }
  words.push_back("dog");
  return Vocabulary::from_words(words);
}

TEST(Generation, StaysInTheLanguage) {
  constexpr int kModels = 100;
  const int grammars = std::getenv("SEMFUSE_LONG") ? 100 : 10;
  RandomStream random(11, RandomPurpose::corpus_val);
  int ended = 0, refused = 0, cut = 0;
  for (int m = 0; m < kModels; ++m) {
    const ModelOptions options = {.width = 8,
                                  .layers = 1,
                                  .heads = 2,
                                  .feed_forward = 8,
                                  .attention = m % 2 == 0 ? AttentionMask::causal : AttentionMask::bidirectional,
                                  .fusion = m % 4 == 3};
    const LanguageModel model(options, random_vocabulary(random), FeatureBank(synthetic_lexicon()), 100 + m);
    const Generator generator(model);
    for (int g = 0; g < grammars; ++g) {
      const std::string text = random_grammar(random);
      GenerationRequest request{.max_tokens = 30, .seed = static_cast<std::uint64_t>(g)};
      std::optional<Grammar> grammar;
      try {
        grammar = Grammar::parse(text, "random", words_of(model.feature_bank().lexicon()));
        request.grammar = std::make_shared<CompiledGrammar>(*grammar, TokenSurfaces::of(model.vocabulary()));
      } catch (const Error&) {
        ++refused;
        continue;
      }
      const Generation generation = generator.generate(request);
      const Grammar::Match match = grammar->match(generation.text);
      if (generation.finish == Generation::Finish::ended) {
        ++ended;
        ASSERT_TRUE(match.accepted) << text << "\n" << generation.text;
        ASSERT_EQ(generation.grammar, Generation::GrammarState::complete);
      } else {
        ++cut;
        ASSERT_EQ(generation.words.size(), request.max_tokens);
        ASSERT_EQ(match.offset, generation.text.size()) << text << "\n" << generation.text;
        ASSERT_EQ(match.accepted, generation.grammar == Generation::GrammarState::complete);
      }
    }
  }
  EXPECT_GT(ended, 30 * grammars) << refused << " refused, " << cut << " cut";
}

// Whether a sentence can be ended with so many tokens, by trying all of them.
bool can_end_within(const GrammarCursor& cursor, std::size_t budget) {
  if (cursor.can_end()) return true;
  if (budget == 0) return false;
  for (const TokenId id : GrammarCursor(cursor).allowed().ids()) {
    GrammarCursor next = cursor;
    if (next.advance(id) && can_end_within(next, budget - 1)) return true;
  }
  return false;
}

TEST(Generation, IsClosedWithinAnyBudgetThatASentenceFits) {
  constexpr int kModels = 40;
  const int grammars = std::getenv("SEMFUSE_LONG") ? 100 : 10;
  constexpr std::size_t kMostTried = 3;  // Tokens whose every order is tried.
  RandomStream random(12, RandomPurpose::corpus_val);
  int closed = 0, too_small = 0, cut = 0;
  for (int m = 0; m < kModels; ++m) {
    const ModelOptions options = {.width = 8, .layers = 1, .heads = 2, .feed_forward = 8};
    const LanguageModel model(options, random_vocabulary(random), FeatureBank(synthetic_lexicon()), 100 + m);
    const Generator generator(model);
    for (int g = 0; g < grammars; ++g) {
      const std::string text = random_grammar(random);
      std::optional<Grammar> grammar;
      std::shared_ptr<const CompiledGrammar> compiled;
      try {
        grammar = Grammar::parse(text, "random");
        compiled = generator.compile(*grammar);
      } catch (const Error&) {
        continue;
      }
      for (std::size_t budget = 1; budget <= 8; ++budget) {
        const GenerationRequest request{
            .grammar = compiled, .max_tokens = budget, .seed = static_cast<std::uint64_t>(g)};
        const Generation generation = generator.generate(request);
        const bool accepted = grammar->match(generation.text).accepted;
        ASSERT_EQ(accepted, generation.grammar == Generation::GrammarState::complete) << text << generation.text;
        ASSERT_EQ(accepted, generation.finish == Generation::Finish::ended) << text << generation.text;
        if (budget <= kMostTried) {
          const bool fits = can_end_within(compiled->begin(), budget);
          ASSERT_EQ(accepted, fits) << text << "within " << budget << ": " << generation.text;
          ++(fits ? closed : too_small);
        } else if (!accepted) {
          ASSERT_EQ(generation.words.size(), budget);
          ++cut;
        }
      }
    }
  }
  EXPECT_GT(closed, 30 * grammars) << too_small << " too small, " << cut << " cut";
}

// One stream guesses tokens ahead, many do not; the more peaked a model, the more of its guesses are right.
TEST(Generation, GuessesChangeNothing) {
  for (const bool fusion : {false, true}) {
    ModelOptions options = {.width = 8, .layers = 2, .heads = 2, .feed_forward = 8};
    options.attention = AttentionMask::causal;
    options.fusion = fusion;
    const LanguageModel model(options, Vocabulary::from_words(kWords),
                              FeatureBank(synthetic_lexicon(), {.bank = FeatureSet::open}), 3);
    const Generator generator(model);
    const auto grammar = std::make_shared<const CompiledGrammar>(
        Grammar::parse(R"(root ::= "the" (" cat" | " dog" | " the cat, then the")+ [.!])", "g",
                       words_of(synthetic_lexicon())),
        TokenSurfaces::of(model.vocabulary()));
    std::vector<GenerationRequest> requests(120);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      requests[i].sampling.temperature = i % 2 == 0 ? 0.05 : i % 5 == 0 ? 1.0 : 0.3;
      if (i % 7 == 0) requests[i].sampling.top_k = 3;
      if (i % 4 == 0) requests[i].grammar = grammar;
      if (i % 9 == 0) requests[i].repetition.penalty = 1.5;
      requests[i].max_tokens = 5 + i % 20;
      requests[i].index = i;
      if (i % 3 == 0) requests[i].prompt = "the cat";
    }
    const std::vector<Generation> together = generator.generate(requests);
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < requests.size(); ++i) {
        const Generation alone = generator.generate(requests[i]);
        ASSERT_EQ(alone.text, together[i].text) << i;
        ASSERT_EQ(alone.finish, together[i].finish) << i;
        ASSERT_EQ(alone.tokens.size(), together[i].tokens.size()) << i;
        for (std::size_t t = 0; t < alone.tokens.size(); ++t) {
          ASSERT_EQ(alone.tokens[t].log_probability, together[i].tokens[t].log_probability);
        }
      }
    }
  }
}

}  // namespace
}  // namespace semfuse
