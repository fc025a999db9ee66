#include "training/adamw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"

namespace semfuse {
namespace {

TEST(LearningRate, WarmsUpFromZeroAndEndsAtZero) {
  EXPECT_EQ(learning_rate(0.4, 0, 10, 110), 0.0);
  EXPECT_NEAR(learning_rate(0.4, 5, 10, 110), 0.2, 1e-12);
  EXPECT_NEAR(learning_rate(0.4, 10, 10, 110), 0.4, 1e-12);
  EXPECT_NEAR(learning_rate(0.4, 60, 10, 110), 0.2, 1e-12);
  EXPECT_NEAR(learning_rate(0.4, 110, 10, 110), 0.0, 1e-12);
  EXPECT_EQ(learning_rate(0.4, 500, 10, 110), 0.0);
  EXPECT_NEAR(learning_rate(0.4, 0, 0, 100), 0.4, 1e-12);  // No warmup.
  EXPECT_EQ(learning_rate(0.4, 7, 7, 7), 0.0);             // Nothing but warmup.
  for (std::uint64_t step = 11; step < 110; ++step) {
    EXPECT_LT(learning_rate(0.4, step, 10, 110), learning_rate(0.4, step - 1, 10, 110)) << "step " << step;
  }
}

TEST(LearningRate, EndsAtAShareOfTheHighest) {
  EXPECT_EQ(learning_rate(0.4, 0, 10, 110, 0.25), 0.0);
  EXPECT_NEAR(learning_rate(0.4, 5, 10, 110, 0.25), 0.2, 1e-12);
  EXPECT_NEAR(learning_rate(0.4, 10, 10, 110, 0.25), 0.4, 1e-12);
  EXPECT_NEAR(learning_rate(0.4, 60, 10, 110, 0.25), 0.25, 1e-12);
  EXPECT_NEAR(learning_rate(0.4, 110, 10, 110, 0.25), 0.1, 1e-12);
  EXPECT_NEAR(learning_rate(0.4, 500, 10, 110, 0.25), 0.1, 1e-12);
}

class AdamWTest : public testing::Test {
 protected:
  AdamWTest() {
    layout_.add("table", {700, 101});  // Several tasks, the last of them short.
    layout_.add("bias", {5});
  }
  void fill(ParameterBlock& block, std::uint64_t seed) const {
    RandomStream random(seed, RandomPurpose::weights);
    for (const ParameterInfo& info : layout_.entries()) {
      for (std::size_t i = 0; i < info.size; ++i) {
        block.vector(info)[i] = static_cast<float>(random.next_uniform() - 0.5);
      }
    }
  }
  ParameterLayout layout_;
  ThreadPool pool_{3};
};

TEST_F(AdamWTest, NormIsThatOfAllParameters) {
  ParameterBlock block(layout_);
  fill(block, 1);
  double sum = 0.0;
  for (std::size_t i = 0; i < block.size(); ++i) sum += static_cast<double>(block.data()[i]) * block.data()[i];
  EXPECT_NEAR(AdamW::norm(block, pool_) / std::sqrt(sum), 1.0, 1e-6);
}

TEST_F(AdamWTest, FollowsTheFormulaInDouble) {
  for (const double clip_norm : {1e9, 1.0}) {  // The gradient's norm is about 77.
    const AdamWOptions options{
        .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.1, .clip_norm = clip_norm};
    AdamW adamw(layout_, options);
    ParameterBlock weights(layout_);
    ParameterBlock gradients(layout_);
    fill(weights, 2);
    std::vector<double> expected(weights.data(), weights.data() + weights.size());
    std::vector<double> m(weights.size()), v(weights.size());
    for (int t = 1; t <= 4; ++t) {
      fill(gradients, static_cast<std::uint64_t>(2 + t));
      const double rate = 0.01 * t;
      const double norm = AdamW::norm(gradients, pool_);
      const double scale = std::min(1.0, clip_norm / (norm + 1e-6));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const double g = static_cast<double>(gradients.data()[i]) * scale;
        m[i] = 0.8 * m[i] + 0.2 * g;
        v[i] = 0.95 * v[i] + 0.05 * g * g;
        const double root = std::sqrt(v[i] / (1.0 - std::pow(0.95, t)));
        expected[i] = expected[i] * (1.0 - rate * 0.1) - rate * m[i] / (1.0 - std::pow(0.8, t)) / (root + 1e-6);
      }
      adamw.step(rate, norm, gradients, weights, pool_);
    }
    EXPECT_EQ(adamw.steps(), 4u);
    double worst = 0.0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      worst = std::max(worst, std::abs(expected[i] - static_cast<double>(weights.data()[i])));
    }
    EXPECT_LT(worst, 1e-6) << "clipped to " << clip_norm;
  }
}

}  // namespace
}  // namespace semfuse
