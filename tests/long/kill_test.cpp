#include "e2e/kill_runs.h"

namespace semfuse {
namespace {

TEST(Kill, SurvivesTwoHundredKills) {
  const TemporaryFolder folder;
  const std::string expected = folder / "expected";
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(semfuse_program(killable_training(expected)).exit_code, 0);
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
  expect_to_survive(200, whole, expected);
}

}  // namespace
}  // namespace semfuse
