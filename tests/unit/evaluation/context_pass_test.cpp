#include "evaluation/context_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "semfuse/error.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

constexpr std::size_t kPieceIds = 9;

// Texts in pieces of at most nine ids, each but the first beginning with the last one of the piece before. The features
// of a token say which text it is of and where it stands in there.
class PiecesOfTexts : public Dataset {
 public:
  PiecesOfTexts(const std::vector<std::vector<TokenId>>& texts, std::size_t num_features)
      : num_features_(num_features) {
    for (std::size_t text = 0; text < texts.size(); ++text) {
      for (std::size_t first = 0; first + 1 < texts[text].size(); first += kPieceIds - 1) {
        const std::size_t end = std::min(texts[text].size(), first + kPieceIds);
        pieces_.push_back({text,
                           first,
                           {texts[text].begin() + static_cast<std::ptrdiff_t>(first),
                            texts[text].begin() + static_cast<std::ptrdiff_t>(end)}});
      }
    }
  }
  std::size_t size() const override { return pieces_.size(); }
  std::span<const TokenId> ids(std::size_t piece) const override { return pieces_[piece].ids; }
  std::size_t num_features() const override { return num_features_; }
  void copy_features(std::size_t piece, std::span<float> rows) const override {
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i] = feature(pieces_[piece].text, pieces_[piece].first + i / num_features_);
  }
  KnobLabel label(std::size_t, std::size_t) const override { return {}; }
  std::uint64_t num_bytes() const override { return 100; }

  static float feature(std::size_t text, std::size_t place) {
    return static_cast<float>(text) + static_cast<float>(place) / 64;
  }
  std::size_t text_of(std::size_t piece) const { return pieces_[piece].text; }

 private:
  struct Piece {
    std::size_t text;
    std::size_t first;
    std::vector<TokenId> ids;
  };
  std::vector<Piece> pieces_;
  std::size_t num_features_;
};

// <bos>, tokens no two of which are the same within a piece, <eos>.
std::vector<TokenId> some_text(std::size_t tokens, TokenId first) {
  std::vector<TokenId> ids = {Vocabulary::kBos};
  for (std::size_t t = 0; t < tokens; ++t) ids.push_back(Vocabulary::kEos + 1 + (first + static_cast<TokenId>(t)) % 37);
  ids.push_back(Vocabulary::kEos);
  return ids;
}

const std::vector<std::vector<TokenId>> kTexts = {some_text(3, 0), some_text(30, 1), some_text(7, 2), some_text(200, 3),
                                                  some_text(2, 4)};

TEST(ContextPass, PredictsEveryTokenOnceBehindWhatItsTextHasBefore) {
  const LanguageModel model = random_model(small_options(AttentionMask::causal, true));
  const std::size_t width = model.feature_bank().size();
  const PiecesOfTexts dataset(kTexts, width);
  for (const bool count_end : {false, true}) {
    std::vector<std::vector<TokenId>> predicted(kTexts.size());
    for_each_batch_in_context(model, dataset, {.count_end = count_end, .threads = 1},
                              [&](const Batch& batch, std::span<const ContextWindow> windows, ForwardPass&) {
                                ASSERT_EQ(windows.size(), batch.num_sentences());
                                for (std::size_t w = 0; w < windows.size(); ++w) {
                                  const std::size_t text = dataset.text_of(windows[w].text);
                                  const std::vector<TokenId>& whole = kTexts[text];
                                  const bool goes_on = dataset.ids(windows[w].text).front() != Vocabulary::kBos;
                                  EXPECT_LE(batch.length(w), kPieceIds) << "a piece, and <pad> where the end counts";
                                  EXPECT_EQ(windows[w].context > 0, goes_on);
                                  if (goes_on) {
                                    EXPECT_GE(windows[w].context, (kPieceIds - 1) / 2);
                                  }
                                  const std::size_t begin = predicted[text].size() - windows[w].context;
                                  for (std::size_t t = 0; t < batch.length(w); ++t) {
                                    const std::size_t row = batch.first_token[w] + t;
                                    EXPECT_EQ(batch.inputs[row], whole[begin + t]);
                                    EXPECT_EQ(batch.positions[row], t);
                                    EXPECT_EQ(batch.feature_rows()(row, width - 1),
                                              PiecesOfTexts::feature(text, begin + t));
                                    if (t >= windows[w].context) predicted[text].push_back(batch.targets[row]);
                                  }
                                }
                              });
    for (std::size_t text = 0; text < kTexts.size(); ++text) {
      std::vector<TokenId> expected(kTexts[text].begin() + 1, kTexts[text].end());
      if (count_end) expected.push_back(Vocabulary::kPad);
      EXPECT_EQ(predicted[text], expected) << text;
    }
  }
}

TEST(ContextPass, AModelThatReadsAheadGetsEachPieceByItself) {
  const LanguageModel model = random_model(small_options(AttentionMask::bidirectional, false));
  const PiecesOfTexts dataset(kTexts, 0);
  std::size_t next = 0;
  for_each_batch_in_context(model, dataset, {.threads = 1},
                            [&](const Batch& batch, std::span<const ContextWindow> windows, ForwardPass&) {
                              for (std::size_t w = 0; w < windows.size(); ++w) {
                                EXPECT_EQ(windows[w].text, next);
                                EXPECT_EQ(windows[w].context, 0U);
                                EXPECT_EQ(batch.inputs[batch.first_token[w]], dataset.ids(next++).front());
                              }
                            });
  EXPECT_EQ(next, dataset.size());
}

// What a piece is measured by is what a text is that begins as early and is counted from there on.
TEST(ContextPass, EvaluateCountsWhatAWindowPredictsAlone) {
  const LanguageModel model = random_model(small_options(AttentionMask::causal, false));
  const std::vector<TokenId> text = some_text(14, 5);  // Pieces of 8 and 7 positions; the second in two windows.
  const PiecesOfTexts dataset({text}, 0);
  const EvaluationOptions options{.count_end = false, .threads = 2};
  const Evaluation result = evaluate(model, dataset, options);
  EXPECT_EQ(result.num_positions, 15U);
  const auto nats = [&](std::size_t begin, std::size_t end) {
    const std::vector<TokenId> ids(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                   text.begin() + static_cast<std::ptrdiff_t>(end + 1));
    return evaluate(model, PiecesOfTexts({ids}, 0), options).sentence_nats.at(0);
  };
  ASSERT_EQ(result.sentence_nats.size(), 2U);
  EXPECT_NEAR(result.sentence_nats[0], nats(0, 8), 1e-4);
  EXPECT_NEAR(result.sentence_nats[1], nats(4, 12) - nats(4, 8) + nats(7, 15) - nats(7, 12), 1e-4);
  EXPECT_NEAR(std::log(result.perplexity) * 15.0, result.sentence_nats[0] + result.sentence_nats[1], 1e-4);
}

TEST(ContextPass, RefusesNothing) {
  const LanguageModel model = random_model(small_options(AttentionMask::causal, false));
  EXPECT_THAT([&] { evaluate(model, PiecesOfTexts({}, 0)); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("no sentence")));
}

}  // namespace
}  // namespace semfuse
