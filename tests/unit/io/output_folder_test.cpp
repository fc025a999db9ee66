#include "io/output_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "semfuse/error.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(OutputFolder, IsMadeWithThoseAboveItAndGoesAgainIfNothingIsWritten) {
  const TemporaryFolder folder;
  {
    const OutputFolder output(folder / "a/b/");
    EXPECT_EQ(output.path(), fs::path(folder / "a/b"));
    EXPECT_TRUE(fs::is_directory(folder / "a/b"));
  }
  EXPECT_FALSE(fs::exists(folder / "a"));
  {
    const OutputFolder output(folder / "a/b");
    std::ofstream(output.path() / "file") << "x";
  }
  EXPECT_TRUE(fs::exists(folder / "a/b/file"));
}

TEST(OutputFolder, MayBeThereAndEmpty) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "empty");
  { const OutputFolder output(folder / "empty"); }
  EXPECT_TRUE(fs::exists(folder / "empty")) << "it was there before";
}

TEST(OutputFolder, RefusesWhatHoldsSomething) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "full");
  std::ofstream(folder / "full/file") << "mine";
  fs::create_symlink(folder / "nowhere", folder / "link");
  for (const char* name : {"full", "full/", "full/file", "link"}) {
    EXPECT_THAT([&] { OutputFolder(folder / name); }, ThrowsMessage<Error>(HasSubstr("is already there")));
  }
  EXPECT_THAT([&] { OutputFolder(folder / "full/file/deep"); }, ThrowsMessage<Error>(HasSubstr("full/file")));
  EXPECT_THAT([&] { OutputFolder(""); }, ThrowsMessage<Error>(HasSubstr("has no name")));
}

}  // namespace
}  // namespace semfuse
