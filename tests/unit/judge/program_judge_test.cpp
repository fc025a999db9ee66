#include "judge/program_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "semfuse/error.h"

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kTexts = {"one", "two\nthree", ""};

std::vector<double> judged(const std::string& command, const std::string& knob = "p: probability of column p") {
  return ProgramJudge(parse_knob(knob), command, {.patience = std::chrono::seconds(20)}).judge(kTexts);
}

std::string error(const std::string& command, std::chrono::milliseconds patience = std::chrono::seconds(20)) {
  try {
    ProgramJudge(parse_knob("p: probability of column p"), command, {.patience = patience}).judge(kTexts);
  } catch (const Error& caught) {
    EXPECT_EQ(std::string_view(caught.what()).find('\n'), std::string_view::npos);
    return caught.what();
  }
  return "";
}

TEST(ProgramJudge, ReadsANumberALine) {
  // The length of each line: line breaks inside a text are blanks.
  EXPECT_THAT(judged("awk '{ print length($0) }'", "n: scalar of column n from 0 to 100"), ElementsAre(3, 9, 0));
  EXPECT_THAT(judged("printf '0.5\\n1 \\n 1e-1\\n'"), ElementsAre(0.5, 1.0, 0.1));
  EXPECT_THAT(judged("cat >/dev/null; printf '.5\\r\\n0\\n1'"), ElementsAre(0.5, 0.0, 1.0));
  EXPECT_THAT(judged("awk '{ print 0.25, 0.75 }'", "t: distribution of column t over a b"),
              ElementsAre(0.25, 0.75, 0.25, 0.75, 0.25, 0.75));
}

TEST(ProgramJudge, ReadsAndWritesAtTheSameTime) {
  const std::vector<std::string> texts(20'000, std::string(100, 'x'));
  const ProgramJudge judge(parse_knob("n: scalar of column n from 0 to 100"), "awk '{ print length($0) }'");
  EXPECT_EQ(judge.judge(texts), std::vector<double>(texts.size(), 100.0));
}

TEST(ProgramJudge, SaysHowAProgramFails) {
  EXPECT_THAT(error("exit 3"), HasSubstr("failed with exit code 3"));
  EXPECT_THAT(error("/no/such/program 2>/dev/null"), HasSubstr("failed with exit code 127"));
  EXPECT_THAT(error("kill -9 $$"), HasSubstr("signal 9"));
  EXPECT_THAT(error("echo 0.5"), HasSubstr("writes 1 lines for 3 texts"));
  EXPECT_THAT(error("true"), HasSubstr("writes 0 lines for 3 texts"));
  EXPECT_THAT(error("printf '0\\n0\\n0\\n0\\n'"), HasSubstr("more lines than the 3 texts"));
  EXPECT_THAT(error("printf '0\\ngood\\n0\\n'"), HasSubstr("writes \"good\" on line 2, not a number"));
  EXPECT_THAT(error("printf '0\\n1 1\\n0\\n'"), HasSubstr("on line 2, not a number"));
  EXPECT_THAT(error("printf '0\\nnan\\n0\\n'"), HasSubstr("on line 2, not a number"));
  EXPECT_THAT(error("printf '0\\n0\\n1.5\\n'"), HasSubstr("writes 1.5 on line 3, which is not from 0 to 1"));
  EXPECT_THAT(error("yes 0.5"), HasSubstr("it must write one line for each"));
  EXPECT_THAT(error("exit 3"), HasSubstr("judge \"exit 3\": "));
}

TEST(ProgramJudge, EndsOneThatHangsWithAllThatItStarted) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(error("sleep 60 & sleep 60", std::chrono::milliseconds(200)), HasSubstr("has not ended after 0.2 s"));
  // Closed its output, but goes on.
  EXPECT_THAT(error("printf '0\\n0\\n0\\n'; exec >&-; sleep 60", std::chrono::milliseconds(200)),
              HasSubstr("has not ended after 0.2 s"));
  const ProgramJudge stopped(parse_knob("p: probability of column p"), "sleep 60", {.go_on = [] { return false; }});
  EXPECT_THROW(stopped.judge(kTexts), Error);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

}  // namespace
}  // namespace semfuse
