#include "evaluation/text_score.h"

#include <gtest/gtest.h>

#include <cmath>

#include "semfuse/error.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

TEST(TextScore, OfAnOwnModelIsWhatItsLogitsSay) {
  for (const bool fusion : {false, true}) {
    ModelOptions options = small_options(AttentionMask::causal, fusion);
    const LanguageModel model = random_model(options);
    const Sentence sentence = some_sentences(1).front();
    const std::string text = model.decode(model.encode(join_words(sentence)));
    const TextScore score = score_text(model, text, 0);
    const std::size_t vocab_size = model.vocabulary().size();
    const std::vector<float> logits = model.logits(sentence);
    ASSERT_EQ(score.ids.size(), sentence.size() + 1);
    ASSERT_EQ(score.nll.size(), sentence.size());
    double all = 0.0;
    for (std::size_t t = 0; t < sentence.size(); ++t) {
      double sum = 0.0;
      const float* row = logits.data() + t * vocab_size;
      for (std::size_t j = 0; j < vocab_size; ++j) sum += std::exp(static_cast<double>(row[j]));
      const double nll = std::log(sum) - static_cast<double>(row[score.ids[t + 1]]);
      EXPECT_TRUE(std::isfinite(score.nll[t]));
      // Features of a beginning are not those of the sentence.
      if (!fusion) {
        EXPECT_NEAR(score.nll[t], nll, 1e-5) << t;
      }
      all += score.nll[t];
    }
    EXPECT_NEAR(score.bits_per_byte(), all / std::log(2.0) / static_cast<double>(text.size()), 1e-12);
    EXPECT_EQ(score.last_logits.size(), vocab_size);
  }
}

TEST(TextScore, OfAModelThatReadsBothWaysIsRefused) {
  const LanguageModel model = random_model(small_options(AttentionMask::bidirectional, false));
  EXPECT_THROW(score_text(model, "", 0), Error);
}

}  // namespace
}  // namespace semfuse
