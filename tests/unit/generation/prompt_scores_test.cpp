#include "generation/prompt_scores.h"

#include <gtest/gtest.h>

#include "semfuse/error.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

// What a token was drawn with is what it scores, whether all are read at once or each beginning by itself.
TEST(PromptScores, AreThoseOfTheDraws) {
  for (const AttentionMask attention : {AttentionMask::causal, AttentionMask::bidirectional}) {
    const LanguageModel model = random_model(small_options(attention, true));
    PromptScores scores(model);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const Generation text = Generator(model).generate(GenerationRequest{.max_tokens = 12, .seed = seed});
      std::vector<TokenId> ids;
      for (const GeneratedToken& token : text.tokens) ids.push_back(token.id);
      const std::vector<TokenScore> found = scores.of(ids, {}, 2);
      ASSERT_EQ(found.size(), text.tokens.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i].log_probability, text.tokens[i].log_probability, 1e-9);
        ASSERT_EQ(found[i].top.size(), 2U);
        EXPECT_GE(found[i].top[0].probability, found[i].top[1].probability);
      }
    }
    EXPECT_TRUE(scores.of({}, {}, 1).empty());
    EXPECT_THROW(scores.of(std::vector<TokenId>{100'000}, {}, 1), Error);
  }
}

}  // namespace
}  // namespace semfuse
