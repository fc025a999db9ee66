#include "study/sweep_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "semfuse/error.h"
#include "support/small_training.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(SweepLevels, AreThereAgain) {
  const TemporaryFolder folder;
  const std::string path = folder / "levels.jsonl";
  {
    SweepLevels levels(path, "{}");
    EXPECT_EQ(levels.size(), 0U);
    levels.keep("0", {{{0.1 + 0.2, NAN}, {1e-17, 0.0}}});
    levels.keep("1 polarity=0.5", {{{0.5}, {0.1}, 0.25, 1.0 / 3.0}, {{}, {}}});
  }
  const SweepLevels levels(path, "{}");
  EXPECT_EQ(levels.size(), 2U);
  EXPECT_FALSE(levels.find("2"));
  const std::vector<Realised> first = levels.find("0").value();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].values[0], 0.1 + 0.2) << "bit by bit";
  EXPECT_TRUE(std::isnan(first[0].values[1]));
  EXPECT_EQ(first[0].half_widths[0], 1e-17);
  EXPECT_EQ(levels.find("1 polarity=0.5")->size(), 2U);
  EXPECT_EQ(levels.find("1 polarity=0.5")->front().distance, 0.25);
  EXPECT_EQ(levels.find("1 polarity=0.5")->front().deviation, 1.0 / 3.0);
}

TEST(SweepLevels, RefuseWhatIsNotTheirs) {
  const TemporaryFolder folder;
  const std::string path = folder / "levels.jsonl";
  const auto opened = [&](const std::string& text) {
    std::ofstream(path) << text;
    return [&] { SweepLevels(path, "{}"); };
  };
  EXPECT_NO_THROW(opened("{}\n")());
  EXPECT_THAT(opened(""), ThrowsMessage<Error>(HasSubstr("another sweep")));
  EXPECT_THAT(opened("{\"n\":2}\n"), ThrowsMessage<Error>(HasSubstr("another sweep")));
  for (const char* line :
       {"garbage", "[]", "5", "{}", "{\"level\":1,\"realised\":[]}", "{\"level\":\"1\",\"realised\":{}}",
        "{\"level\":\"1\",\"realised\":[{\"values\":[\"x\"],\"half_widths\":[]}]}", "\xff"})
    EXPECT_THAT(opened(std::string("{}\n") + line + "\n"), ThrowsMessage<Error>(HasSubstr("levels.jsonl:2"))) << line;
}

TEST(SweepLevels, TheIdentityIsOfWeightsAndOptions) {
  const ModelOptions options = small_options(AttentionMask::causal, true);
  const LanguageModel model = synthetic_model(options);
  const std::string identity = sweep_identity(model, {});
  EXPECT_EQ(sweep_identity(synthetic_model(options), {}), identity);
  EXPECT_NE(sweep_identity(random_model(options), {}), identity);
  EXPECT_NE(sweep_identity(model, {.n = 7}), identity);
  EXPECT_NE(sweep_identity(model, {.guidance = 2.0}), identity);
  EXPECT_NE(sweep_identity(model, {.seed = 5}), identity);
}

}  // namespace
}  // namespace semfuse
