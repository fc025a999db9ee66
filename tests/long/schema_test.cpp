#include <gtest/gtest.h>

#include "e2e/semfuse_program.h"

namespace semfuse {
namespace {

// Random schemas and values, as another implementation sees them.
TEST(Schema, AgreesWithJsonschema) {
  const ProcessResult result =
      run_process({"/usr/bin/python3", SEMFUSE_SOURCE_DIR "/tests/long/schema_check.py", SEMFUSE_BIN_DIR "/semfuse"});
  if (result.exit_code == 77) GTEST_SKIP() << "there is no jsonschema for Python";
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

}  // namespace
}  // namespace semfuse
