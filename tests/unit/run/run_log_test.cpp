#include "run/run_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "io/file.h"
#include "run/run_log_writer.h"
#include "semfuse/error.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string step(int number) {
  return R"({"event":"step","step":)" + std::to_string(number) + R"(,"epoch":1,"loss":2.5,"tokens":7})" + "\n";
}
std::string skipped(int number) {
  return R"({"event":"skipped","step":)" + std::to_string(number) + R"(,"epoch":1,"not_finite":"loss","tokens":5})" +
         "\n";
}
std::string evaluation(int number) {
  return R"({"event":"evaluation","epoch":1,"step":)" + std::to_string(number) +
         R"(,"attention":"causal","perplexity":3.5,"seen_only_perplexity":null,"feature_mse":0.25})" + "\n";
}

TEST(RunLog, ReadsStepsAndEvaluations) {
  const RunHistory history = parse_run_log(step(1) + skipped(2) + evaluation(2) + step(3), "log");
  ASSERT_EQ(history.steps.size(), 3U);
  EXPECT_EQ(history.steps[0].loss, 2.5);
  EXPECT_EQ(history.steps[0].num_tokens, 7U);
  EXPECT_TRUE(history.steps[1].skipped);
  EXPECT_TRUE(std::isnan(history.steps[1].loss));
  EXPECT_FALSE(history.steps[2].skipped);
  ASSERT_EQ(history.evaluations.size(), 1U);
  EXPECT_EQ(history.evaluations[0].perplexity, 3.5);
  EXPECT_TRUE(std::isnan(history.evaluations[0].seen_only_perplexity));
  EXPECT_EQ(history.evaluations[0].attention, "causal");
  EXPECT_TRUE(parse_run_log("", "log").steps.empty());
}

TEST(RunLog, SaysWhatTheWriterWrote) {
  const TemporaryFolder folder;
  {
    RunLogWriter log(folder / "log.jsonl");
    log.add_start(0, "AVX2");
    log.add({.step = 1, .epoch = 1, .loss = 0.1, .num_tokens = 7}, 0.5);
    log.add({.step = 2, .epoch = 1, .skipped = true, .num_tokens = 5}, 0.5);
    log.add({.step = 2, .epoch = 1, .attention = "causal", .perplexity = 3.7, .feature_mse = std::nan("")});
    log.add_start(2, "AVX3");
    log.sync();
    EXPECT_FALSE(parse_run_log(read_text(folder / "log.jsonl"), "log").finished);
    log.add_finished(2);
  }
  const RunHistory history = parse_run_log(read_text(folder / "log.jsonl"), "log");
  ASSERT_EQ(history.steps.size(), 2U);
  EXPECT_EQ(history.steps[0].loss, 0.1);
  EXPECT_TRUE(history.steps[1].skipped);
  ASSERT_EQ(history.evaluations.size(), 1U);
  EXPECT_EQ(history.evaluations[0].perplexity, 3.7);
  EXPECT_TRUE(std::isnan(history.evaluations[0].feature_mse));
  EXPECT_EQ(history.instruction_set, "AVX3");
  EXPECT_TRUE(history.finished);
}

TEST(RunLog, AnUnfinishedLastLineIsLeftOut) {
  const std::string text = step(1) + step(2);
  for (std::size_t size = step(1).size(); size < text.size(); ++size)
    EXPECT_EQ(parse_run_log(text.substr(0, size), "log").steps.size(), 1U);
}

TEST(RunLog, RefusesWhatIsNoLog) {
  const auto refused = [](const std::string& text, const char* part) {
    EXPECT_THAT([&] { parse_run_log(text, "log"); }, ThrowsMessage<Error>(AllOf(HasSubstr("log:"), HasSubstr(part))));
  };
  refused(step(1) + step(1), "log:2: step 1 follows step 1");
  refused(step(1) + step(3), "log:2: step 3 follows step 1");
  refused(step(2), "step 2 follows step 0");
  refused(step(1) + evaluation(2), "log:2: the evaluation after step 2 follows step 1");
  refused("garbage\n", "log:1:1");
  refused("[]\n", "no object");
  refused("\n", "log:1");
  refused("{\"event\":\"party\",\"step\":1}\n", "\"party\" is unknown");
  refused("{\"event\":\"step\",\"step\":-1,\"epoch\":1,\"loss\":1,\"tokens\":1}\n", "\"step\" is no whole number");
  refused("{\"event\":\"step\",\"step\":1,\"epoch\":1,\"loss\":null,\"tokens\":1}\n", "\"loss\" is no number");
  refused("{\"event\":\"step\",\"step\":1,\"epoch\":1,\"tokens\":1}\n", "lacks \"loss\"");
}

TEST(RunLog, CutsAfterAStep) {
  const std::string text = step(1) + step(2) + evaluation(2) + step(3) + step(4);
  EXPECT_EQ(log_until(text, 0), "");
  EXPECT_EQ(log_until(text, 1), step(1));
  EXPECT_EQ(log_until(text, 2), step(1) + step(2) + evaluation(2));
  EXPECT_EQ(log_until(text, 4), text);
  EXPECT_EQ(log_until(text, 9), text);
  EXPECT_EQ(log_until(text.substr(0, text.size() - 1), 9), step(1) + step(2) + evaluation(2) + step(3));
  EXPECT_EQ(log_until(step(1) + "garbage\n" + step(2), 9), step(1));
}

}  // namespace
}  // namespace semfuse
