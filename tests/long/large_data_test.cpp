// A file of 2 GB, tens of millions of short texts: prepared and trained on in the memory of a small machine.
#include <fstream>

#include "e2e/semfuse_program.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBytes = 2'000'000'000;
constexpr std::uint64_t kRoom = 4 * kBytes;  // The file, its columns, and some more.
constexpr double kMostMegabytes = 400.0;

void write_reviews(const std::string& path) {
  const std::vector<std::string> things = {"the food", "our waiter", "this café", "the soup", "my room", "parking"};
  const std::vector<std::string> words = {"awful", "bad", "fine", "good", "great"};
  std::ofstream file(path, std::ios::binary);
  std::string text = "text\tstars\n";
  std::uint64_t written = 0;
  for (std::uint64_t i = 0; written < kBytes; ++i) {
    const std::size_t stars = i * 7 % 5;
    text += things[i % 6] + " was " + words[stars] + " on day " + std::to_string(i) + (i % 3 == 0 ? "!\t" : ".\t") +
            static_cast<char>('1' + stars) + '\n';
    if (text.size() < (std::size_t{1} << 20)) continue;
    file << text;
    written += text.size();
    text.clear();
  }
}

TEST(LargeData, IsPreparedAndTrainedOnInLittleMemory) {
  const TemporaryFolder folder;
  const std::uint64_t room = fs::space(folder / ".").available;
  if (room < kRoom) {
    GTEST_SKIP() << "SKIPPED: " << (folder / ".") << " has " << room / 1'000'000 << " MB left, and this test needs "
                 << kRoom / 1'000'000 << "; set TMPDIR to a folder on a larger disk";
  }
  write_reviews(folder / "reviews.tsv");
  ::setenv("SEMFUSE_CACHE", (folder / "cache").c_str(), 1);
  const std::string run = folder / "run";
  const auto begin = std::chrono::steady_clock::now();
  Process process(command_of(
      "semfuse",
      {"train", "--data", folder / "reviews.tsv", "--out", run, "--quiet", "--set", "training.epochs=1", "--set",
       "model.knobs=[\"stars: scalar of column stars from 1 to 5\", \"mark: distribution of final_mark over . !\"]"}));
  const auto steps = [&] {
    const std::string log = Process::text(run + "/log.jsonl");
    return std::count(log.begin(), log.end(), '\n');
  };
  while (process.running() && steps() < 5) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  process.signal(SIGINT);
  const ProcessResult result = process.result();
  EXPECT_EQ(result.exit_code, 128 + SIGINT) << result.err;
  EXPECT_GE(steps(), 5);
  std::cout << "2 GB prepared and five steps done after " << seconds.count() << " s with at most "
            << process.peak_megabytes() << " MB\n";
  EXPECT_LT(process.peak_megabytes(), kMostMegabytes);
}

}  // namespace
}  // namespace semfuse
