#include "io/output_file.h"

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

TEST(OutputFile, WantsAFolderThatIsThere) {
  const TemporaryFolder folder;
  EXPECT_NO_THROW(require_new_file(folder / "new"));
  EXPECT_NO_THROW(require_new_file("new-file-of-no-folder"));
  EXPECT_THAT([&] { require_new_file(folder / "none/new"); }, ThrowsMessage<Error>(HasSubstr("there is no folder")));
  std::ofstream(folder / "file") << "x";
  EXPECT_THAT([&] { require_new_file(folder / "file/new"); }, ThrowsMessage<Error>(HasSubstr("file")));
  EXPECT_THAT([&] { require_writable(folder.path()); }, ThrowsMessage<Error>(HasSubstr("is a directory")));
  EXPECT_THAT([&] { require_writable(folder / "none/"); }, ThrowsMessage<Error>(HasSubstr("is a directory")));
  EXPECT_THAT([&] { require_writable(""); }, ThrowsMessage<Error>(HasSubstr("empty")));
  EXPECT_FALSE(fs::exists(folder / "new"));
}

TEST(OutputFile, IsNeverOneOfSomebodyElse) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "<svg>";
  fs::create_symlink(folder / "nowhere", folder / "link");
  for (const char* name : {"file", "link"}) {
    EXPECT_THAT([&] { require_new_file(folder / name); }, ThrowsMessage<Error>(HasSubstr("is not overwritten")));
  }
  const auto check = [&](const char* name) { require_own_file(folder / name, {"<?xml", "<svg"}, "an SVG"); };
  EXPECT_NO_THROW(check("file"));
  EXPECT_NO_THROW(check("none"));
  for (const char* other : {"", "<sv", " <svg", "text"}) {
    std::ofstream(folder / "other") << other;
    EXPECT_THAT([&] { check("other"); }, ThrowsMessage<Error>(HasSubstr("is not an SVG and is not overwritten")));
  }
}

}  // namespace
}  // namespace semfuse
