#include "e2e/semfuse_program.h"

namespace semfuse {
namespace {

// Models that transformers made come back from us as they were.
TEST(ImportLong, AgreesWithTransformers) {
  const char* python = std::getenv("SEMFUSE_TRANSFORMERS_PYTHON");
  const std::string program = python != nullptr ? python : "/usr/bin/python3";
  if (run_process({program, "-c", "import torch, transformers, tokenizers"}).exit_code != 0) {
    GTEST_SKIP() << program << " has no torch, transformers and tokenizers; name one by SEMFUSE_TRANSFORMERS_PYTHON";
  }
  const TemporaryFolder folder;
  const ProcessResult result = run_process({program, SEMFUSE_SOURCE_DIR "/tests/long/transformers_check.py",
                                            SEMFUSE_BIN_DIR "/semfuse", folder.path().string()});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

}  // namespace
}  // namespace semfuse
