#include "model/membership_layer.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace semfuse {
namespace {

TEST(MembershipLayer, BeginsAtTheOptions) {
  const FeatureOptions options{.centers = {0.0, 0.3, 0.9}, .bandwidth = 0.7};
  ParameterLayout layout;
  const MembershipLayer layer(layout, options);
  for (const Memberships& levels : layer.memberships(ParameterBlock(layout))) {
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(levels.centers[k], options.centers[k], 1e-15);
      EXPECT_EQ(levels.widths[k], options.bandwidth);
    }
  }
}

// Every combination of numbers that training could at worst arrive at.
TEST(MembershipLayer, CentresAscendAndWidthsStayPositiveWhateverTheParameters) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::array<float, 7> kExtremes = {-kInfinity, -3e38f, -1.0f, 0.0f, 1.0f, 3e38f, kInfinity};
  ParameterLayout layout;
  const MembershipLayer layer(layout, {});
  ParameterBlock weights(layout);
  float* gaps = weights.vector(*layout.find("memberships.gaps"));
  float* widths = weights.vector(*layout.find("memberships.widths"));
  for (std::size_t combination = 0; combination < 7 * 7 * 7 * 7; ++combination) {
    std::size_t rest = combination;
    for (std::size_t j = 0; j < 4; ++j, rest /= 7) gaps[j] = kExtremes[rest % 7];
    widths[0] = kExtremes[combination % 7];
    const Memberships levels = layer.memberships(weights)[0];
    EXPECT_GT(levels.centers[0], -0.5) << combination;
    EXPECT_GT(levels.centers[1], levels.centers[0] + 1e-3) << combination;
    EXPECT_GT(levels.centers[2], levels.centers[1] + 1e-3) << combination;
    EXPECT_LT(levels.centers[2], 1.5) << combination;
    EXPECT_GE(levels.widths[0], 0.35 / 8 - 1e-12);
    EXPECT_LE(levels.widths[0], 0.35 * 8 + 1e-12);
  }
}

}  // namespace
}  // namespace semfuse
