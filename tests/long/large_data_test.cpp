// A file of 2 GB, tens of millions of short texts with many different words: prepared and trained on in the memory of a
// small machine, with features and without. SEMFUSE_LARGE_DATA_MB=200 takes a smaller file.
#include <fstream>

#include "core/random.h"
#include "e2e/semfuse_program.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

constexpr double kMostMegabytes = 400.0;

std::uint64_t file_bytes() {
  const char* megabytes = std::getenv("SEMFUSE_LARGE_DATA_MB");
  return (megabytes != nullptr ? std::stoull(megabytes) : 2000) * 1'000'000;
}

// One of 26^4 names.
std::string name_of(std::uint64_t i) {
  std::string name;
  for (std::uint64_t bits = mix_bits(i); name.size() < 4; bits /= 26) name += static_cast<char>('a' + bits % 26);
  return name;
}

void write_reviews(const std::string& path, std::uint64_t bytes) {
  const std::vector<std::string> things = {"the food", "our waiter", "this café", "the soup", "my room", "parking"};
  const std::vector<std::string> words = {"awful", "bad", "fine", "good", "great"};
  std::ofstream file(path, std::ios::binary);
  std::string text = "text\tstars\n";
  std::uint64_t written = 0;
  for (std::uint64_t i = 0; written < bytes; ++i) {
    const std::size_t stars = i * 7 % 5;
    text += things[i % 6] + " was " + words[stars] + ", " + name_of(i) + " said on day " + std::to_string(i) +
            (i % 3 == 0 ? "!\t" : ".\t") + static_cast<char>('1' + stars) + '\n';
    if (text.size() < (std::size_t{1} << 20)) continue;
    file << text;
    written += text.size();
    text.clear();
  }
}

void prepare_and_train(const std::string& preset, const std::string& file, const std::string& run) {
  const auto begin = std::chrono::steady_clock::now();
  Process process(command_of(
      "semfuse",
      {"train", "--preset", preset, "--data", file, "--out", run, "--quiet", "--set", "training.epochs=1", "--set",
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
  std::cout << preset << ": prepared and five steps done after " << seconds.count() << " s with at most "
            << process.peak_megabytes() << " MB\n";
  EXPECT_LT(process.peak_megabytes(), kMostMegabytes);
}

TEST(LargeData, IsPreparedAndTrainedOnInLittleMemory) {
  const TemporaryFolder folder;
  const std::uint64_t bytes = file_bytes();
  const std::uint64_t needed = 5 * bytes;  // The file, its columns, and some more.
  const std::uint64_t room = fs::space(folder / ".").available;
  if (room < needed) {
    GTEST_SKIP() << "SKIPPED: " << (folder / ".") << " has " << room / 1'000'000 << " MB left, and this test needs "
                 << needed / 1'000'000 << "; set TMPDIR to a folder on a larger disk";
  }
  write_reviews(folder / "reviews.tsv", bytes);
  ::setenv("SEMFUSE_CACHE", (folder / "cache").c_str(), 1);
  for (const char* preset : {"text", "text-features"}) {
    prepare_and_train(preset, folder / "reviews.tsv", folder / "run");
    for (const char* name : {"cache", "run"}) fs::remove_all(folder / name);
  }
}

}  // namespace
}  // namespace semfuse
