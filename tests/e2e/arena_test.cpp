// Methods of control side by side, from a file to a page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/file.h"
#include "semfuse_program.h"

namespace semfuse {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string reviews(std::size_t count) {
  const std::vector<std::string> things = {"the food", "our waiter", "this place", "the soup", "my room"};
  const std::vector<std::string> words = {"awful", "bad", "poor", "fine", "good", "great"};
  std::string text = "text\tkind\n";
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t word = i * 7 % 6;
    text += things[i / 6 % 5] + " was " + words[word] + " at " + std::to_string(i % 997) + '\t' +
            (word > 2 ? "yes" : "no") + '\n';
  }
  return text;
}

Arguments tiny_arena(const TemporaryFolder& folder, const Arguments& more) {
  Arguments arguments = {"arena", "--data", folder / "reviews.tsv", "--out", folder / "arena", "--seeds", "1",
                         "--n",   "20"};
  for (const char* setting : {"model.width=16", "model.layers=1", "model.heads=2", "model.feed_forward=16",
                              "text.vocabulary=400", "training.steps=30", "training.batch=32"}) {
    arguments.insert(arguments.end(), {"--set", setting});
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(Arena, MethodsAreMeasuredAndKept) {
  const TemporaryFolder folder;
  ::setenv("SEMFUSE_CACHE", (folder / "cache").c_str(), 1);
  std::ofstream(folder / "reviews.tsv") << reviews(2000);
  const Arguments arguments =
      tiny_arena(folder, {"--methods", "guidance,gedi", "--methods", "best-of", "--strengths", "2"});
  const ProcessResult result = semfuse_program(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("| GeDi | 2 |"));
  EXPECT_THAT(result.out, Not(HasSubstr("DExperts")));
  const auto json = nlohmann::json::parse(read_text(folder / "arena/results.json"));
  EXPECT_EQ(json["knob"], "kind");
  EXPECT_EQ(json["methods"].size(), 4U);  // The three, and nothing asked.
  const std::string page = read_text(folder / "arena/index.html");
  EXPECT_THAT(page, HasSubstr("Control against fluency"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));

  // What is done is not done again, and gives the same.
  const ProcessResult again = semfuse_program(arguments);
  EXPECT_EQ(again.out, result.out);
  // Another judge measures again.
  Arguments judged = arguments;
  judged.insert(judged.end(), {"--judge", "while read -r line; do echo 0.9; done"});
  EXPECT_THAT(semfuse_program(judged).out, HasSubstr("1.000 / 0.000"));
  // Other settings are no continuation.
  Arguments other = arguments;
  other.insert(other.end(), {"--set", "training.steps=31"});
  expect_refused(other, "other settings");
}

TEST(Arena, AJudgeThatFailsLosesNothing) {
  const TemporaryFolder folder;
  ::setenv("SEMFUSE_CACHE", (folder / "cache").c_str(), 1);
  std::ofstream(folder / "reviews.tsv") << reviews(2000);
  const ProcessResult failed = semfuse_program(tiny_arena(folder, {"--methods", "ctrl", "--judge", "exit 3"}));
  EXPECT_EQ(failed.exit_code, 2);
  EXPECT_THAT(failed.err, HasSubstr("exit 3"));
  const ProcessResult result = semfuse_program(
      tiny_arena(folder, {"--methods", "ctrl", "--resume", "--judge", "while read -r line; do echo 0.9; done"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("1.000 / 0.000"));
}

TEST(Arena, WrongUseIsRefused) {
  const TemporaryFolder folder;
  ::setenv("SEMFUSE_CACHE", (folder / "cache").c_str(), 1);
  std::ofstream(folder / "reviews.tsv") << reviews(200);
  expect_refused(tiny_arena(folder, {"--methods", "gedy"}), "gedi");
  expect_refused(tiny_arena(folder, {"--knob", "stars"}), "kind");
  expect_refused(tiny_arena(folder, {"--strengths", "-1"}), "above 0");
  expect_refused(tiny_arena(folder, {"--resume"}), "nothing to resume");
  expect_refused({"arena", "--data", folder / "none.tsv", "--out", folder / "arena"}, "none.tsv");
}

}  // namespace
}  // namespace semfuse
