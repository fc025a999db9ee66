#include "evaluation/ngram_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/random.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

using Ids = std::vector<TokenId>;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr TokenId kPad = Vocabulary::kPad;
constexpr TokenId kBos = Vocabulary::kBos;
constexpr TokenId kEos = Vocabulary::kEos;

class IdLists : public Dataset {
 public:
  explicit IdLists(std::vector<Ids> texts, std::uint64_t bytes = 0) : texts_(std::move(texts)), bytes_(bytes) {}
  std::size_t size() const override { return texts_.size(); }
  std::span<const TokenId> ids(std::size_t text) const override { return texts_[text]; }
  std::size_t num_features() const override { return 0; }
  void copy_features(std::size_t, std::span<float>) const override {}
  KnobLabel label(std::size_t, std::size_t) const override { return {}; }
  std::uint64_t num_bytes() const override { return bytes_; }

 private:
  std::vector<Ids> texts_;
  std::uint64_t bytes_;
};

// The formulas as they stand in the paper, over maps of whole n-grams, recursive, and all texts from <bos>.
class PlainNgrams {
 public:
  PlainNgrams(const std::vector<Ids>& texts, std::size_t vocab_size, std::size_t order)
      : vocab_size_(vocab_size), order_(order) {
    std::map<Ids, std::set<TokenId>> before;
    for (const Ids& text : texts) {
      for (std::size_t end = 1; end < text.size(); ++end) {
        for (std::size_t length = 1; length <= std::min(order, end + 1); ++length) {
          const Ids ngram(text.begin() + static_cast<std::ptrdiff_t>(end + 1 - length),
                          text.begin() + static_cast<std::ptrdiff_t>(end + 1));
          if (length == order || length == end + 1) {
            ++count_[ngram];
          } else {
            before[ngram].insert(text[end - length]);
          }
        }
      }
    }
    for (const auto& [ngram, tokens] : before) count_[ngram] += tokens.size();
  }

  double probability(const Ids& context, TokenId next) const {
    Ids ngram = context;
    ngram.push_back(next);
    const std::size_t length = ngram.size();
    double sum = 0.0;
    double freed = 0.0;
    for (TokenId token = 0; token < static_cast<TokenId>(vocab_size_); ++token) {
      Ids other = context;
      other.push_back(token);
      sum += count(other);
      freed += discount(length, count(other));
    }
    const double shorter = context.empty() ? 1.0 / static_cast<double>(vocab_size_)
                                           : probability(Ids(context.begin() + 1, context.end()), next);
    if (sum == 0.0) return shorter;
    return (count(ngram) - discount(length, count(ngram))) / sum + freed / sum * shorter;
  }

  // Whether the discounts of some order are not the usual ones.
  bool has_estimates() const {
    for (std::size_t length = 1; length <= order_; ++length) {
      if (discount(length, 1.0) != 0.5) return true;
    }
    return false;
  }

 private:
  double count(const Ids& ngram) const {
    const auto found = count_.find(ngram);
    return found == count_.end() ? 0.0 : static_cast<double>(found->second);
  }

  double discount(std::size_t length, double count) const {
    if (count == 0.0) return 0.0;
    double n[5] = {};
    for (const auto& [ngram, c] : count_) {
      if (ngram.size() == length && c < 5) n[c] += 1.0;
    }
    double d[4] = {0.0, 0.5, 1.0, 1.5};
    if (n[1] * n[2] * n[3] * n[4] > 0.0) {
      const double y = n[1] / (n[1] + 2.0 * n[2]);
      const double d1 = 1.0 - 2.0 * y * n[2] / n[1], d2 = 2.0 - 3.0 * y * n[3] / n[2], d3 = 3.0 - 4.0 * y * n[4] / n[3];
      if (d1 > 0.0 && d1 < 1.0 && d2 > 0.0 && d2 < 2.0 && d3 > 0.0 && d3 < 3.0) {
        d[1] = d1;
        d[2] = d2;
        d[3] = d3;
      }
    }
    return d[std::min(static_cast<int>(count), 3)];
  }

  std::size_t vocab_size_, order_;
  std::map<Ids, std::size_t> count_;
};

// Texts in which some tokens are much more frequent than others, from <bos> to <eos>.
std::vector<Ids> random_texts(std::uint64_t seed, std::size_t count, std::size_t vocab_size) {
  RandomStream random(seed, RandomPurpose::corpus_train, 0);
  std::vector<Ids> texts;
  for (std::size_t i = 0; i < count; ++i) {
    Ids text = {kBos};
    for (std::size_t length = random.next_below(9); length > 0; --length) {
      const double u = random.next_uniform();
      text.push_back(
          static_cast<TokenId>(3 + static_cast<std::size_t>(u * u * u * static_cast<double>(vocab_size - 4))));
    }
    text.push_back(kEos);
    texts.push_back(std::move(text));
  }
  return texts;
}

Ids last(const Ids& history, std::size_t count) {
  return Ids(history.end() - static_cast<std::ptrdiff_t>(std::min(count, history.size())), history.end());
}

TEST(NgramModel, EqualsThePlainFormulas) {
  std::size_t with_estimates = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const std::size_t vocab_size = 6 + seed;
    const std::size_t order = seed % 5 + 1;
    const std::vector<Ids> texts = random_texts(seed, 10 * seed, vocab_size);
    const NgramModel model(IdLists(texts), vocab_size, {.order = order});
    const PlainNgrams plain(texts, vocab_size, order);
    if (plain.has_estimates()) ++with_estimates;
    for (const Ids& text : random_texts(seed + 100, 4, vocab_size)) {
      Ids history = {text[0]};
      for (std::size_t i = 1; i < text.size(); ++i) {
        const double expected = plain.probability(last(history, order - 1), text[i]);
        EXPECT_NEAR(model.probability(history, text[i]), expected, 1e-12) << "seed " << seed;
        history.push_back(text[i]);
      }
    }
  }
  EXPECT_GT(with_estimates, 3U);
  EXPECT_LT(with_estimates, 12U);
}

TEST(NgramModel, IsADistributionOverTheWholeVocabulary) {
  constexpr std::size_t kVocabulary = 40;
  const NgramModel model(IdLists(random_texts(3, 300, kVocabulary)), kVocabulary);
  std::vector<Ids> histories = {{}, {kBos}, {39, 39, 39, 39, 39}, {kEos}, {kPad, kPad}, {kBos, 3, 3, 38}, {39, 3, 4}};
  for (const Ids& text : random_texts(4, 30, kVocabulary)) histories.push_back(text);
  for (const Ids& history : histories) {
    double sum = 0.0;
    for (TokenId token = 0; token < static_cast<TokenId>(kVocabulary); ++token) {
      const double probability = model.probability(history, token);
      EXPECT_GT(probability, 0.0);
      sum += probability;
    }
    EXPECT_NEAR(sum, 1.0, 1e-12) << testing::PrintToString(history);
  }
}

TEST(NgramModel, PiecesOfATextAreCountedAndMeasuredAsOne) {
  const IdLists whole({{kBos, 3, 4, 5, 6, 7, 3, 4, kEos}, {kBos, 4, 5, kEos}}, 20);
  const IdLists pieces({{kBos, 3, 4}, {4, 5}, {5, 6, 7, 3}, {3, 4, kEos}, {kBos, 4, 5, kEos}}, 20);
  const NgramModel of_whole(whole, 8);
  const NgramModel of_pieces(pieces, 8);
  EXPECT_EQ(of_pieces.num_tokens(), 11U);
  for (const IdLists* texts : {&whole, &pieces}) {
    const NgramEvaluation expected = evaluate(of_whole, whole, false);
    const NgramEvaluation result = evaluate(of_pieces, *texts, false);
    EXPECT_EQ(result.num_positions, 11U);
    EXPECT_EQ(result.perplexity, expected.perplexity);
    EXPECT_EQ(result.bits_per_byte, expected.bits_per_byte);
  }
}

// A piece of which the text before is not there stands at a beginning like any other.
TEST(NgramModel, APieceAloneBeginsWithItsFirstToken) {
  const NgramModel model(IdLists({{5, 6, 7}, {5, 6, kEos}, {kBos, 4, 6, kEos}}), 8);
  double sum = 0.0;
  for (TokenId token = 0; token < 8; ++token) sum += model.probability(Ids{5}, token);
  EXPECT_NEAR(sum, 1.0, 1e-12);
  EXPECT_GT(model.probability(Ids{5}, 6), model.probability(Ids{4}, 7));
}

TEST(NgramModel, MeasuresWhatTheModelIsMeasuredOn) {
  const std::vector<Ids> texts = random_texts(7, 50, 20);
  const NgramModel model(IdLists(texts), 20, {.count_end = true});
  const NgramEvaluation with_end = evaluate(model, IdLists(texts, 1000), true);
  const NgramEvaluation without = evaluate(model, IdLists(texts, 1000), false);
  EXPECT_EQ(with_end.num_positions, without.num_positions + texts.size());
  EXPECT_LT(with_end.perplexity, without.perplexity) << "<pad> after <eos> is all but certain";
  double nats = 0.0;
  for (const Ids& text : texts) {
    for (std::size_t i = 1; i < text.size(); ++i)
      nats -= std::log(model.probability(std::span(text).first(i), text[i]));
  }
  EXPECT_NEAR(std::log(without.perplexity) * static_cast<double>(without.num_positions), nats, 1e-9);
  EXPECT_NEAR(without.bits_per_byte, nats / std::log(2.0) / 1000.0, 1e-12);
  EXPECT_TRUE(std::isnan(evaluate(model, IdLists(texts), false).bits_per_byte));
}

TEST(NgramModel, OfTooManyTokensReadsEverySecondText) {
  const std::vector<Ids> texts = random_texts(5, 100, 20);
  std::vector<Ids> half;
  std::uint64_t ids = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ids += texts[i].size();
    if (i % 2 == 0) half.push_back(texts[i]);
  }
  const NgramModel model(IdLists(texts), 20, {.max_tokens = ids / 2 + 1});
  EXPECT_EQ(model.stride(), 2U);
  EXPECT_EQ(evaluate(model, IdLists(texts), false).perplexity,
            evaluate(NgramModel(IdLists(half), 20), IdLists(texts), false).perplexity);
  EXPECT_EQ(NgramModel(IdLists(texts), 20, {.max_tokens = ids}).stride(), 1U);
}

TEST(NgramModel, RefusesNothing) {
  EXPECT_THAT([] { NgramModel(IdLists({}), 8); }, ThrowsMessage<Error>(HasSubstr("no training text")));
  const NgramModel model(IdLists({{kBos, kEos}}), 8);
  EXPECT_THAT([&] { evaluate(model, IdLists({}), false); }, ThrowsMessage<Error>(HasSubstr("no text")));
  EXPECT_GT(model.probability(Ids{kBos}, kEos), 0.3);
}

}  // namespace
}  // namespace semfuse
