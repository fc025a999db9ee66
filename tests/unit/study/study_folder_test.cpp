#include "study/study_folder.h"

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

TEST(StudyFolder, KeepsFinishedRuns) {
  const TemporaryFolder temporary;
  const fs::path path = temporary / "study/";
  const Experiment experiment = preset_experiment("semfuse");
  {
    StudyFolder folder(path, "ablation");
    EXPECT_FALSE(fs::exists(folder.path()));
    folder.open();
    EXPECT_FALSE(folder.finished("a-1", experiment));
    folder.keep("a-1", experiment, "{}");
    EXPECT_THAT([&] { StudyFolder(path, "ablation").open(); }, ThrowsMessage<Error>(HasSubstr("working in it")));
  }
  const StudyFolder folder(path, "ablation");
  EXPECT_EQ(folder.finished("a-1", experiment), "{}");
  EXPECT_FALSE(folder.finished("a-2", experiment));
  Experiment other = experiment;
  other.training.epochs += 1;
  EXPECT_THAT([&] { folder.finished("a-1", other); }, ThrowsMessage<Error>(HasSubstr("with other settings")));
}

TEST(StudyFolder, TakesNothingElse) {
  const TemporaryFolder temporary;
  const auto opened = [&](const char* kind) { return [&, kind] { StudyFolder(temporary / "x", kind).open(); }; };
  fs::create_directory(temporary / "x");
  EXPECT_NO_THROW(opened("ablation")()) << "an empty folder";
  EXPECT_NO_THROW(opened("ablation")());
  EXPECT_THAT(opened("reproduction"), ThrowsMessage<Error>(HasSubstr("is no reproduction")));
  fs::remove_all(temporary / "x");
  fs::create_directories(temporary / "x/runs/baseline-111");  // As an old reproduction left it.
  EXPECT_THAT(opened("ablation"), ThrowsMessage<Error>(HasSubstr("is no ablation")));
  EXPECT_NO_THROW(opened("reproduction")());
  fs::remove_all(temporary / "x");
  std::ofstream(temporary / "x") << "a file";
  EXPECT_THAT(opened("ablation"), ThrowsMessage<Error>(HasSubstr("is already there")));
  EXPECT_THAT([] { StudyFolder("", "ablation"); }, ThrowsMessage<Error>(HasSubstr("--out is empty")));
}

TEST(StudyFolder, OneThatWasCutOffWhileItWasMadeIsNoHindrance) {
  const TemporaryFolder temporary;
  const auto opened = [&](const char* kind) { return [&, kind] { StudyFolder(temporary / "x", kind).open(); }; };
  fs::create_directories(temporary / "x/runs");
  std::ofstream(temporary / "x/runs/lock");
  std::ofstream(temporary / "x/runs/study.tmp-1") << "abl";
  EXPECT_NO_THROW(opened("ablation")());
  EXPECT_THAT(opened("reproduction"), ThrowsMessage<Error>(HasSubstr("is no reproduction")));
  fs::remove(temporary / "x/runs/study");
  std::ofstream(temporary / "x/notes") << "of somebody";
  EXPECT_THAT(opened("ablation"), ThrowsMessage<Error>(HasSubstr("is no ablation")));
}

}  // namespace
}  // namespace semfuse
