#include "run/checkpoint_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "io/file.h"
#include "semfuse/error.h"
#include "support/faulty_file_layer.h"
#include "support/small_training.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Fault = FaultyFileLayer::Fault;

std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) files[entry.path().filename()] = read_text(entry.path());
  return files;
}

std::vector<std::uint64_t> steps_of(const CheckpointStore& store) {
  std::vector<std::uint64_t> steps;
  for (const CheckpointStore::Entry& entry : store.list()) steps.push_back(entry.step);
  return steps;
}

void save(CheckpointStore& store, const SmallTraining& training, std::uint64_t keep = 3) {
  store.save(training.model, training.trainer.state(), training.experiment, keep);
}

TEST(CheckpointStore, KeepsTheNewest) {
  const TemporaryFolder folder;
  CheckpointStore store(folder / "checkpoints");
  EXPECT_TRUE(store.list().empty());
  EXPECT_FALSE(store.find_newest().checkpoint);
  SmallTraining training(small_experiment());
  for (int i = 0; i < 5; ++i) {
    training.steps(1);
    save(store, training);
  }
  EXPECT_THAT(steps_of(store), ElementsAre(5, 4, 3));
  EXPECT_EQ(store.find_newest().checkpoint->state.step, 5U);
  training.steps(1);
  save(store, training, 1);
  EXPECT_THAT(steps_of(store), ElementsAre(6));
  EXPECT_EQ(store.list().front().path.filename(), "step-00000006.safetensors");
}

TEST(CheckpointStore, OtherFilesAreNoCheckpoints) {
  const TemporaryFolder folder;
  for (const char* name : {"step-.safetensors", "step-1", "step--1.safetensors", "step-1x.safetensors",
                           "step-00000001.safetensors.damaged", "step-00000001.safetensors.tmp-1-0",
                           "step-99999999999999999999.safetensors", "settings.json"}) {
    std::ofstream(folder / name) << "x";
  }
  CheckpointStore store(folder.path());
  EXPECT_TRUE(store.list().empty());
  SmallTraining training(small_experiment());
  save(store, training, 1);
  EXPECT_EQ(files_of(folder.path()).size(), 9U) << "nothing else is removed";
  store.remove_temporary_files();
  EXPECT_EQ(files_of(folder.path()).size(), 8U);
  EXPECT_TRUE(fs::exists(folder / "step-00000000.safetensors"));
}

// A damaged one must not make a whole one count as old.
TEST(CheckpointStore, ALaterOneDoesNotPushOutTheOneJustSaved) {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  std::ofstream(folder / "step-00000007.safetensors") << "garbage";
  SmallTraining training(small_experiment());
  training.steps(2);
  save(store, training, 1);
  EXPECT_THAT(steps_of(store), ElementsAre(7, 2));
  const CheckpointStore::Found found = store.find_newest();
  EXPECT_EQ(found.checkpoint->state.step, 2U);
  ASSERT_EQ(found.damaged.size(), 1U);
  store.set_aside(found.damaged);
  EXPECT_THAT(steps_of(store), ElementsAre(2));
  EXPECT_EQ(read_text(folder / "step-00000007.safetensors.damaged"), "garbage");
}

TEST(CheckpointStore, ACheckpointUnderAnotherNameIsNotUsed) {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  SmallTraining training(small_experiment());
  training.steps(2);
  save(store, training);
  fs::copy(folder / "step-00000002.safetensors", folder / "step-00000005.safetensors");
  const CheckpointStore::Found found = store.find_newest();
  EXPECT_EQ(found.path.filename(), "step-00000002.safetensors");
  ASSERT_EQ(found.damaged.size(), 1U);
  EXPECT_THAT(found.damaged[0].reason, HasSubstr("holds step 2"));
}

// Each call of a save fails in turn, in each way; then the next checkpoint is tried, as training does.
TEST(CheckpointStore, AFailingCallLeavesTheOlderCheckpointsAsTheyWere) {
  const Experiment experiment = small_experiment();
  std::string expected_newest;
  std::size_t num_calls = 0;
  {
    const TemporaryFolder folder;
    FaultyFileLayer files;
    CheckpointStore store(folder.path(), files);
    SmallTraining training(experiment);
    training.steps(4);
    save(store, training);
    num_calls = files.calls();
    ASSERT_GT(num_calls, 50U) << "a write for each tensor";
    expected_newest = read_text(folder / "step-00000004.safetensors");
  }
  struct Case {
    Fault fault;
    int code;
  };
  for (const Case& broken : {Case{Fault::error, ENOSPC}, Case{Fault::error, EIO}, Case{Fault::full_disk, ENOSPC},
                             Case{Fault::short_write, 0}}) {
    std::size_t failures = 0;
    std::set<std::string> failed_calls;
    for (std::size_t call = 0; call < num_calls; ++call) {
      const TemporaryFolder folder;
      FaultyFileLayer files;
      CheckpointStore store(folder.path(), files);
      SmallTraining training(experiment);
      training.steps(1);
      save(store, training, 2);
      training.steps(1);
      save(store, training, 2);
      const auto before = files_of(folder.path());
      training.steps(1);
      files.fail_at(call, broken.fault, broken.code);
      bool failed = false;
      try {
        save(store, training, 2);
      } catch (const Error& error) {
        failed = true;
        EXPECT_THAT(error.what(), HasSubstr(folder / "step-00000003.safetensors"));
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      }
      if (!files.last_failed().empty()) failed_calls.insert(files.last_failed());
      if (failed) {
        ++failures;
        auto after = files_of(folder.path());
        // Only the flush of the folder comes after the file is in place; then it is there, whole, besides the others.
        after.erase("step-00000003.safetensors");
        EXPECT_EQ(after, before) << "call " << call << " failed";
      }
      EXPECT_TRUE(store.find_newest().damaged.empty());
      EXPECT_GE(store.find_newest().checkpoint->state.step, 2U);

      files.fail_at(FaultyFileLayer::kNever, Fault::error, 0);
      training.steps(1);
      save(store, training, 2);
      EXPECT_EQ(read_text(folder / "step-00000004.safetensors"), expected_newest);
      EXPECT_EQ(steps_of(store).front(), 4U);
      EXPECT_EQ(steps_of(store).size(), 2U);
    }
    if (broken.fault == Fault::short_write) {
      EXPECT_EQ(failures, 0U) << "the rest is written by another call";
    } else if (broken.fault == Fault::error) {
      EXPECT_THAT(failed_calls, testing::IsSupersetOf({"open", "write", "fsync", "close", "rename"}));
      EXPECT_GE(failures, num_calls - 1) << "all but the last close, of the folder";
    } else {
      EXPECT_GT(failures, num_calls / 2);
    }
  }
}

class DamagedCheckpoints : public testing::Test {
 protected:
  DamagedCheckpoints() : store_(folder_.path()), training_(small_experiment(false)) {
    training_.steps(3);
    save(store_, training_);
    older_ = read_text(folder_ / "step-00000003.safetensors");
    training_.steps(2);
    save(store_, training_);
    newer_ = read_text(folder_ / "step-00000005.safetensors");
  }

  void expect_older_is_used(const std::string& bytes, const std::string& what) {
    std::ofstream(folder_ / "step-00000005.safetensors", std::ios::binary) << bytes;
    const CheckpointStore::Found found = store_.find_newest();
    ASSERT_TRUE(found.checkpoint) << what;
    ASSERT_EQ(found.checkpoint->state.step, 3U) << what;
    ASSERT_EQ(found.damaged.size(), 1U) << what;
    ASSERT_THAT(found.damaged[0].reason, HasSubstr("step-00000005.safetensors")) << what;
    ASSERT_EQ(found.damaged[0].reason.find('\n'), std::string::npos) << what;
  }

  // Without the way over the disk.
  static std::string refusal_of(const std::string& bytes) {
    try {
      const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
      TensorArchive archive = TensorArchive::parse({first, first + bytes.size()}, "damaged.safetensors");
      if (!archive.has_checksum()) return "damaged.safetensors: no checksum";
      parse_training_checkpoint(std::move(archive), "damaged.safetensors");
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  const TemporaryFolder folder_;
  CheckpointStore store_;
  SmallTraining training_;
  std::string older_;
  std::string newer_;
};

TEST_F(DamagedCheckpoints, TenThousandRandomDamages) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  std::uint64_t header = 0;
  std::memcpy(&header, newer_.data(), sizeof(header));
  for (int i = 0; i < 10000; ++i) {
    std::string bytes = newer_;
    switch (i % 5) {
      case 0:  // Bits flipped anywhere ...
      case 1:  // ... and in the header, where there is more to misunderstand.
        for (std::size_t flips = 1 + below(3); flips > 0; --flips) {
          const std::size_t place = below(i % 5 == 0 ? bytes.size() : header + 8);
          bytes[place] = static_cast<char>(bytes[place] ^ (1 << below(8)));
        }
        if (bytes == newer_) continue;  // Two flips of the same bit.
        break;
      case 2:
        bytes.resize(below(bytes.size()));
        break;
      case 3:
        for (std::size_t count = 1 + below(64); count > 0; --count) bytes += static_cast<char>(random());
        break;
      default: {  // A run replaced by the older checkpoint's, as by a disk that lost a block.
        const std::size_t first = below(bytes.size());
        const std::size_t count = std::min<std::size_t>(1 + below(4096), std::min(bytes.size(), older_.size()) - first);
        bytes.replace(first, count, older_, first, count);
        if (bytes == newer_) continue;
      }
    }
    if (i % 25 < 5) {
      ASSERT_NO_FATAL_FAILURE(expect_older_is_used(bytes, "case " + std::to_string(i)));
    } else {
      ASSERT_THAT(refusal_of(bytes), HasSubstr("damaged.safetensors")) << "case " << i;
    }
  }
}

TEST_F(DamagedCheckpoints, EveryKindOfNothing) {
  expect_older_is_used("", "empty");
  expect_older_is_used(std::string(newer_.size(), '\0'), "zeros");
  expect_older_is_used(older_, "the older one's bytes");
  fs::remove(folder_ / "step-00000005.safetensors");
  fs::create_directory(folder_ / "step-00000005.safetensors");
  EXPECT_EQ(store_.find_newest().checkpoint->state.step, 3U);
}

TEST(CheckpointStore, SettingsAreKeptBesideTheCheckpoints) {
  const TemporaryFolder folder;
  CheckpointStore store(folder / "checkpoints");
  EXPECT_EQ(store.load_settings(), CheckpointSettings());
  store.save_settings({.every = 7, .keep = 9});
  EXPECT_EQ(store.load_settings(), (CheckpointSettings{.every = 7, .keep = 9}));
  store.save_settings({.every = 7, .keep = 9, .calibrate = false});
  EXPECT_EQ(store.load_settings(), (CheckpointSettings{.every = 7, .keep = 9, .calibrate = false}));
  for (const char* text :
       {"", "{}", "[]", "{\"every\": 0, \"keep\": 1}", "{\"every\": 1, \"keep\": -1}", "{\"every\": 1.5, \"keep\": 1}",
        "{\"every\": \"1\", \"keep\": 1}", "{\"every\": 1, \"keep\": 1, \"calibrate\": 0}"}) {
    std::ofstream(folder / "checkpoints/settings.json") << text;
    EXPECT_THAT([&] { store.load_settings(); }, ThrowsMessage<Error>(HasSubstr("settings.json"))) << text;
  }
}

}  // namespace
}  // namespace semfuse
