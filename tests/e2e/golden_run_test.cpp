#include <cmath>

#include "e2e/run_files.h"
#include "e2e/semfuse_program.h"
#include "semfuse/checkpoint.h"

namespace semfuse {
namespace {

const std::string kGolden = SEMFUSE_SOURCE_DIR "/tests/golden/run";

TEST(GoldenRun, EveryFileIsReadable) {
  const ProcessResult result = semfuse_program({"verify", kGolden});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(semfuse_program({"inspect", kGolden}).exit_code, 0);
  EXPECT_EQ(load_checkpoint(kGolden).model.logits({"Alice"}).size(), 2U * 41U);
}

// Not bit by bit: another processor's vectors sum in another order.
TEST(GoldenRun, ItGoesOnFromTheCheckpoint) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  std::filesystem::copy(kGolden, run, std::filesystem::copy_options::recursive);
  const ProcessResult result = semfuse_program({"train", "--resume", run});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, testing::HasSubstr("goes on from step 6 of 8"));
  const std::vector<nlohmann::json> golden = log_of(kGolden), found = steps_and_evaluations_of(run);
  ASSERT_EQ(found.size(), golden.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i]["event"], golden[i]["event"]);
    EXPECT_EQ(found[i]["step"], golden[i]["step"]);
    const char* key = found[i]["event"] == "step" ? "loss" : "perplexity";
    EXPECT_NEAR(found[i][key].get<double>(), golden[i][key].get<double>(), 1e-4 * golden[i][key].get<double>());
  }
}

}  // namespace
}  // namespace semfuse
