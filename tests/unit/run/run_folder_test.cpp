#include "run/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/file.h"
#include "semfuse/error.h"
#include "support/small_training.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Two processes find the same empty folder; the second one comes at any moment of the first one's run.
TEST(RunFolder, TheRunOfAQuickerProcessIsLeftAlone) {
  const TemporaryFolder folder;
  const RunFiles files{folder / "run"};
  const Experiment experiment = small_experiment();
  const auto begin_another = [&] { RunFolder(files.folder, experiment, {}); };
  fs::create_directory(files.folder);
  {
    const LockFile held(files.lock(), "training in it");
    EXPECT_THAT(begin_another, ThrowsMessage<Error>(HasSubstr("is training in it")));
    EXPECT_TRUE(fs::exists(files.lock())) << "a third one could take it";
    CheckpointStore(files.checkpoints()).save_settings({});
    EXPECT_THAT(begin_another, ThrowsMessage<Error>(HasSubstr("is training in it")));
    EXPECT_TRUE(fs::exists(files.checkpoint_settings()));
    write_atomically(files.config(), to_toml(experiment));
    EXPECT_THAT(begin_another, ThrowsMessage<Error>(HasSubstr("is training in it")));
    EXPECT_TRUE(fs::exists(files.config()));
  }
  EXPECT_THAT(begin_another, ThrowsMessage<Error>(HasSubstr("is already there")));
  EXPECT_TRUE(fs::exists(files.config()));
}

TEST(RunFolder, OneWithoutAModelLeavesTheFolderEmpty) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "run");
  RunFolder(folder / "run", small_experiment(), {}, {{"lexicon.tsv", "word\n"}});
  EXPECT_TRUE(fs::is_empty(folder / "run"));
  RunFolder(folder / "new/run", small_experiment(), {});
  EXPECT_FALSE(fs::exists(folder / "new"));
}

}  // namespace
}  // namespace semfuse
