#include "generation/large_draw.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "core/random.h"
#include "generation/sampler.h"
#include "support/instruction_sets.h"

namespace semfuse {
namespace {

// No sum comes near these by chance, so that the order of adding does not matter.
const std::vector<SamplingOptions> kAllOptions = {{},
                                                  {.temperature = 0.3},
                                                  {.temperature = 4.0},
                                                  {.top_k = 1},
                                                  {.top_k = 40},
                                                  {.top_k = 700},
                                                  {.top_k = 100000},
                                                  {.top_p = 0.0317},
                                                  {.top_p = 0.90017},
                                                  {.top_p = 0.99713},
                                                  {.top_p = 0.0317, .nucleus = Nucleus::paper},
                                                  {.top_p = 0.90017, .nucleus = Nucleus::paper},
                                                  {.top_k = 300, .top_p = 0.81019},
                                                  {.temperature = 0.7, .top_p = 0.90017}};

// Logits from flat to one word only, some of them equal.
std::vector<float> some_logits(int turn, RandomStream& random) {
  std::vector<float> logits(LargeDraw::kLeast + random.next_below(3000));
  const double scale = std::array{0.0, 0.01, 1.0, 3.0, 12.0, 60.0}[turn % 6];
  for (float& logit : logits) {
    const double x = random.next_uniform() + random.next_uniform() + random.next_uniform() - 1.5;
    logit = static_cast<float>(scale * (turn % 2 == 0 ? x : std::round(4.0 * x)));
  }
  return logits;
}

std::vector<double> ruled_out(const std::vector<float>& logits, const TokenSet* allowed) {
  std::vector<double> result(logits.begin(), logits.end());
  for (std::size_t id = 0; id < result.size(); ++id) {
    const bool in = allowed == nullptr || allowed->contains(static_cast<TokenId>(id));
    if (!in || id == Vocabulary::kPad || id == Vocabulary::kBos) result[id] = -INFINITY;
  }
  return result;
}

TEST(LargeDraw, TakesWhatSampleTakes) {
  RandomStream random(11, RandomPurpose::sampling);
  LargeDraw draw;
  for (int turn = 0; turn < 48; ++turn) {
    const std::vector<float> logits = some_logits(turn, random);
    TokenSet allowed(logits.size());
    const std::size_t one_in = std::array{1, 3, 200}[turn % 3];
    for (std::size_t id = 0; id < logits.size(); ++id) {
      if (id == 5 || random.next_below(one_in) == 0) allowed.insert(static_cast<TokenId>(id));
    }
    for (const TokenSet* mask : {static_cast<const TokenSet*>(nullptr), &std::as_const(allowed)}) {
      const std::vector<double> left = ruled_out(logits, mask);
      for (const SamplingOptions& options : kAllOptions) {
        for (const double uniform : {random.next_uniform(), random.next_uniform(), 0.0, 1.0 - 0x1p-53}) {
          const TokenProbability expected = *sample(left, options, uniform);
          const std::optional<TokenProbability> found = draw.draw(logits, mask, options, uniform);
          ASSERT_TRUE(found);
          // At the very end of the sum rounding decides which of two tokens of hardly any weight it is.
          if (uniform < 1.0 - 0x1p-53) {
            ASSERT_EQ(found->id, expected.id) << turn << " top_k " << options.top_k << " top_p " << options.top_p;
            EXPECT_NEAR(found->probability, expected.probability, 1e-12);
          }
          EXPECT_NE(left[static_cast<std::size_t>(found->id)], -INFINITY);
          EXPECT_GT(found->probability, 0.0);
        }
      }
    }
  }
}

TEST(LargeDraw, IsTheSameWithEveryInstructionSet) {
  RandomStream random(12, RandomPurpose::sampling);
  for (int turn = 0; turn < 12; ++turn) {
    const std::vector<float> logits = some_logits(turn, random);
    const double uniform = random.next_uniform();
    for (const SamplingOptions& options : kAllOptions) {
      const TokenProbability expected = *sample(ruled_out(logits, nullptr), options, uniform);
      for_each_instruction_set(
          [&] { EXPECT_EQ(LargeDraw().draw(logits, nullptr, options, uniform)->id, expected.id); });
    }
  }
}

TEST(LargeDraw, HasNothingToTakeIfAllIsRuledOut) {
  const std::vector<float> logits(1000, 1.0f);
  TokenSet none(logits.size());
  EXPECT_FALSE(LargeDraw().draw(logits, &none, {}, 0.5));
  none.insert(Vocabulary::kPad);
  EXPECT_FALSE(LargeDraw().draw(logits, &none, {.top_k = 3}, 0.5));
  EXPECT_FALSE(LargeDraw().draw(logits, &none, {.top_p = 0.5}, 0.5));
}

}  // namespace
}  // namespace semfuse
