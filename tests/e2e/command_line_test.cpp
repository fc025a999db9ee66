#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "e2e/semfuse_program.h"

namespace semfuse {
namespace {

TEST(CommandLine, AloneItPrintsHelp) {
  const ProcessResult result = semfuse_program({});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, testing::HasSubstr("semfuse train --out run"));
  EXPECT_EQ(result.err, "");
}

TEST(CommandLine, EveryCommandHasHelpWithExamples) {
  for (const char* command : {"corpus", "features", "train", "inspect", "log", "verify", "export"}) {
    const ProcessResult result = semfuse_program({command, "--help"});
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_THAT(result.out, testing::HasSubstr(std::string("Examples:\n  semfuse ") + command));
  }
}

TEST(CommandLine, Version) {
  const ProcessResult result = semfuse_program({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, testing::MatchesRegex("semfuse [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(CommandLine, MistakesAreOneLineWithTheNearestWord) {
  expect_refused({"trian"}, R"(unknown command "trian"; did you mean "train"?)");
  expect_refused({"xyzzy"}, "commands are corpus, features, train, inspect");
  expect_refused({"train", "--ouput", "run"}, R"(unknown option "--ouput"; did you mean "--out"?)");
  expect_refused({"--verison"}, "did you mean \"--version\"?");
  expect_refused({"features", "--jsn", "Alice"}, "did you mean \"--json\"?");
  expect_refused({"train"}, "--out is required");
  expect_refused({"features"}, "SENTENCE is required");
  expect_refused({"inspect", "a", "b"}, "unexpected argument \"b\"");
  expect_refused({"train", "--out"}, "--out");
  expect_refused({"train", "--out", "x", "--preset", "paper-fusion", "--config", "y"}, "--config");
  expect_refused({"bad\nline\x1b[31m"}, "unknown command \"bad\\nline\\x1b[31m\"");
}

TEST(CommandLine, AFullDiskIsReported) {
  for (const Arguments& arguments : {Arguments{"--help"}, Arguments{"features", "Alice"}}) {
    const ProcessResult result = run_process(command_of("semfuse", arguments), "/dev/full");
    EXPECT_EQ(result.exit_code, 2);
    expect_one_error_line(result, "cannot write to standard output: No space left on device");
  }
}

TEST(CommandLine, AReaderThatLeavesIsNoError) {
  // The reader says through another pipe that it has closed the first one.
  const TemporaryFolder folder;
  const std::string left = folder / "left";
  ASSERT_EQ(::mkfifo(left.c_str(), 0600), 0);
  const std::string program = SEMFUSE_BIN_DIR "/semfuse";
  const ProcessResult result =
      run_process({"/bin/sh", "-c",
                   "(cat " + left + "; " + program + " features Alice; echo $? >&2) | (exec <&-; : >" + left + ")"});
  EXPECT_EQ(result.err, "141\n");
}

}  // namespace
}  // namespace semfuse
