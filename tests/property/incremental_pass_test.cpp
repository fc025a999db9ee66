// A sentence that grows token by token gives the logits of a full pass, bit for bit, alone or among others.
#include "model/incremental_pass.h"

#include <gtest/gtest.h>

#include "model/model_access.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

struct Case {
  AttentionMask attention;
  bool fusion;
  NormPlace norm = NormPlace::post;
  bool distance_bias = false;
};

ModelOptions options_of(const Case& c) {
  ModelOptions options = small_options(c.attention, c.fusion);
  options.norm = c.norm;
  options.scaled_embedding = c.norm == NormPlace::pre;
  options.distance_bias = c.distance_bias;
  return options;
}

class IncrementalPassTest : public testing::TestWithParam<Case> {
 protected:
  void set_text(TokenStream& stream, const Sentence& words) const {
    stream.tokens = model_.vocabulary().encode(words);
    stream.tokens.pop_back();
    if (GetParam().fusion) stream.features = model_.feature_bank().prefix_rows(words).values;
  }

  void expect_full_pass(const float* logits, const Sentence& words) const {
    const std::vector<float> full = model_.logits(words);
    const std::size_t vocab_size = model_.vocabulary().size();
    for (std::size_t i = 0; i < vocab_size; ++i) {
      ASSERT_EQ(logits[i], full[words.size() * vocab_size + i]) << join_words(words) << ", token " << i;
    }
  }

  LanguageModel model_ = random_model(options_of(GetParam()));
  ThreadPool pool_{1};
  InferenceWeights weights_{ModelAccess::network(model_), ModelAccess::weights(model_), pool_};
};

TEST_P(IncrementalPassTest, GrowsByOneTokenAtATime) {
  IncrementalPass pass(weights_);
  for (const Sentence& sentence : some_sentences(4)) {
    TokenStream stream(ModelAccess::empty_cache(model_));
    TokenStream* const streams[] = {&stream};
    for (std::size_t length = 0; length <= sentence.size(); ++length) {
      const Sentence prefix(sentence.begin(), sentence.begin() + static_cast<std::ptrdiff_t>(length));
      set_text(stream, prefix);
      expect_full_pass(pass.run(streams).row(0), prefix);
    }
  }
}

TEST_P(IncrementalPassTest, GrowsByManyTokensShrinksAndChanges) {
  IncrementalPass pass(weights_);
  TokenStream stream(ModelAccess::empty_cache(model_));
  TokenStream* const streams[] = {&stream};
  RandomStream random(3, RandomPurpose::corpus_val);
  const std::vector<Sentence> sentences = some_sentences(3);
  for (int i = 0; i < 60; ++i) {
    const Sentence& sentence = sentences[random.next_below(sentences.size())];
    const auto length = static_cast<std::ptrdiff_t>(random.next_below(sentence.size() + 1));
    const Sentence prefix(sentence.begin(), sentence.begin() + length);
    set_text(stream, prefix);
    expect_full_pass(pass.run(streams).row(0), prefix);
  }
}

TEST_P(IncrementalPassTest, DoesNotDependOnTheOtherStreams) {
  IncrementalPass pass(weights_);
  const std::vector<Sentence> sentences = some_sentences(20);
  std::vector<std::unique_ptr<TokenStream>> streams;
  for (std::size_t i = 0; i < sentences.size(); ++i)
    streams.push_back(std::make_unique<TokenStream>(ModelAccess::empty_cache(model_)));
  RandomStream random(4, RandomPurpose::corpus_val);
  for (std::size_t step = 0; step < 16; ++step) {
    std::vector<TokenStream*> chosen;
    std::vector<Sentence> prefixes;
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      if (random.next_below(3) == 0) continue;  // Some streams wait, and catch up later.
      const std::size_t length = std::min(step, sentences[i].size());
      prefixes.emplace_back(sentences[i].begin(), sentences[i].begin() + static_cast<std::ptrdiff_t>(length));
      set_text(*streams[i], prefixes.back());
      chosen.push_back(streams[i].get());
    }
    const Matrix logits = pass.run(chosen);
    for (std::size_t i = 0; i < chosen.size(); ++i) expect_full_pass(logits.row(i), prefixes[i]);
  }
}

TEST_P(IncrementalPassTest, StreamsThatBeginAlikeShareTheirBeginnings) {
  for (const std::size_t bytes : {2'000, 1'000'000}) {  // Room for a few tokens, and for all.
    IncrementalPass pass(weights_, bytes);
    TokenStream stream(ModelAccess::empty_cache(model_));
    TokenStream* const streams[] = {&stream};
    for (int round = 0; round < 2; ++round) {
      for (const Sentence& sentence : some_sentences(5)) {
        for (std::size_t begin = 0; begin <= sentence.size(); begin += 3) {
          stream.clear();
          for (std::size_t length = begin; length <= sentence.size(); length += 2) {
            const Sentence prefix(sentence.begin(), sentence.begin() + static_cast<std::ptrdiff_t>(length));
            set_text(stream, prefix);
            expect_full_pass(pass.run(streams).row(0), prefix);
          }
        }
      }
    }
  }
}

// Guesses, right or wrong, change no logits. With the paper's features they may not be made: rows change as a text
// grows.
class GuessingPassTest : public IncrementalPassTest {};

TEST_P(GuessingPassTest, ReadsGuessesInTheSamePass) {
  IncrementalPass pass(weights_, 100'000);
  TokenStream stream(ModelAccess::empty_cache(model_));
  TokenStream other(ModelAccess::empty_cache(model_));
  set_text(other, some_sentences(1).front());
  TokenStream* const streams[] = {&stream, &other};
  const std::vector<Sentence> sentences = some_sentences(3);
  for (const Sentence& sentence : sentences) {
    stream.clear();
    for (std::size_t length = 0; length + 3 < sentence.size(); ++length) {
      for (std::size_t num_right = 0; num_right <= 3; ++num_right) {
        Sentence text(sentence.begin(), sentence.begin() + static_cast<std::ptrdiff_t>(length));
        for (std::size_t g = 0; g < 3; ++g) text.push_back(g < num_right ? sentence[length + g] : "moderately");
        set_text(stream, text);
        stream.num_guesses = 3;
        const Matrix logits = pass.run(streams);
        ASSERT_EQ(logits.rows(), 5u);
        for (std::size_t row = 0; row < 4; ++row) {
          expect_full_pass(logits.row(row), {text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length + row)});
        }
        expect_full_pass(logits.row(4), some_sentences(1).front());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, IncrementalPassTest,
                         testing::Values(Case{AttentionMask::causal, false}, Case{AttentionMask::causal, true},
                                         Case{AttentionMask::bidirectional, false},
                                         Case{AttentionMask::bidirectional, true},
                                         Case{AttentionMask::causal, false, NormPlace::pre},
                                         Case{AttentionMask::causal, true, NormPlace::pre, true},
                                         Case{AttentionMask::bidirectional, true, NormPlace::pre}));
INSTANTIATE_TEST_SUITE_P(Models, GuessingPassTest,
                         testing::Values(Case{AttentionMask::causal, false},
                                         Case{AttentionMask::causal, false, NormPlace::pre},
                                         Case{AttentionMask::causal, false, NormPlace::pre, true}));

}  // namespace
}  // namespace semfuse
