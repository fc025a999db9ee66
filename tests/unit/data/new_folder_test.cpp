#include "data/new_folder.h"

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "support/temporary_folder.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

TEST(NewFolder, NobodyTakesOneInTheMakingForAbandoned) {
  const TemporaryFolder folder;
  const fs::path cache = folder / "cache";
  fs::create_directories(cache / "dead.tmp-1-0");
  std::atomic<bool> done = false;
  std::thread remover([&] {
    while (!done) NewFolder::remove_abandoned(cache);
  });
  std::vector<std::string> faults(3);
  std::vector<std::thread> makers;
  for (std::size_t maker = 0; maker < faults.size(); ++maker) {
    makers.emplace_back([&, maker] {
      try {
        for (int i = 0; i < 100; ++i) {
          const fs::path target = cache / (std::to_string(maker) + "-" + std::to_string(i));
          NewFolder made(target);
          std::ofstream(made.path() / "part") << "whole";
          made.give_name();
          if (!fs::exists(target / "part")) faults[maker] = target.string() + " is not whole";
        }
      } catch (const std::exception& error) {
        faults[maker] = error.what();
      }
    });
  }
  for (std::thread& maker : makers) maker.join();
  done = true;
  remover.join();
  EXPECT_THAT(faults, testing::Each(""));
  EXPECT_FALSE(fs::exists(cache / "dead.tmp-1-0"));
}

}  // namespace
}  // namespace semfuse
