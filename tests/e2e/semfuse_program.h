// The built programs as tests call them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/process.h"
#include "support/temporary_folder.h"

namespace semfuse {

using Arguments = std::vector<std::string>;

inline Arguments command_of(const std::string& program, const Arguments& arguments) {
  Arguments command = {SEMFUSE_BIN_DIR "/" + program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

inline ProcessResult semfuse_program(const Arguments& arguments) {
  return run_process(command_of("semfuse", arguments));
}

// `train` of a model that takes milliseconds, with more arguments behind it.
inline Arguments tiny_training(const std::string& out, const Arguments& more = {}) {
  Arguments arguments = {"train", "--out", out};
  for (const char* setting :
       {"corpus.train=64", "corpus.val=20", "model.width=8", "model.layers=2", "model.heads=2", "model.feed_forward=12",
        "model.feature_head=4", "training.epochs=1", "training.batch=32"}) {
    arguments.insert(arguments.end(), {"--set", setting});
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

inline void expect_one_error_line(const ProcessResult& result, const std::string& part) {
  EXPECT_THAT(result.err, testing::StartsWith("semfuse: "));
  EXPECT_THAT(result.err, testing::HasSubstr(part));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_THAT(result.err, testing::EndsWith("\n"));
}

// Exit code 2 and one line that has `part`, nothing on standard output.
inline void expect_refused(const Arguments& arguments, const std::string& part) {
  SCOPED_TRACE(testing::PrintToString(arguments));
  const ProcessResult result = semfuse_program(arguments);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  expect_one_error_line(result, part);
}

}  // namespace semfuse
