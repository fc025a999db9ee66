// Speed of preparing a file of labelled texts: reading, making a tokenizer, cutting, labelling and writing, all
// together, without features and with the English ones; one JSON line at the end.
//
//   bench_preparation FOLDER [FILE]   FOLDER is made, used and removed; FILE is a .tsv with columns text and stars;
//                                     without one, 64 MB of random words as frequent as those of a language
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/thread_pool.h"
#include "data/preparation.h"
#include "features/feature_bank_access.h"
#include "features/natural_bank.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Usage {
  double seconds = 0.0;  // Of all threads, in the program and in the system for it.
  double peak_mb = 0.0;
};

Usage usage() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {.seconds = seconds(used.ru_utime) + seconds(used.ru_stime),
          .peak_mb = static_cast<double>(used.ru_maxrss) * 1024.0 / 1e6};
}

// 50,000 words of 2 to 9 letters, the one of rank r about 1/r as frequent as the first; 3 to 14 of them a text.
void write_random_texts(const fs::path& path) {
  constexpr std::size_t kBytes = 64'000'000;
  RandomStream random(1, RandomPurpose::corpus_val);
  std::vector<std::string> words(50'000);
  for (std::string& word : words) {
    for (std::uint64_t n = 2 + random.next_below(8); n > 0; --n) word += "etaoinshrdlu"[random.next_below(12)];
  }
  std::string text = "text\tstars\n";
  while (text.size() < kBytes) {
    for (std::uint64_t n = 3 + random.next_below(12); n > 0; --n) {
      const double rank = std::exp(random.next_uniform() * std::log(static_cast<double>(words.size())));
      text += words[static_cast<std::size_t>(rank) - 1];
      text += n == 1 ? '.' : ' ';
    }
    text += fmt::format("\t{}\n", 1 + random.next_below(5));
  }
  std::ofstream(path) << text;
}

int run(const fs::path& folder, const fs::path& file) {
  if (fs::exists(folder)) throw Error(fmt::format("{}: is there already; name a new folder", folder.string()));
  fs::create_directories(folder);
  const fs::path data = file.empty() ? folder / "texts.tsv" : file;
  if (file.empty()) write_random_texts(data);
  const double megabytes = static_cast<double>(fs::file_size(data)) / 1e6;
  fmt::print("{:.0f} MB, {} threads\n", megabytes, thread_count(0));
  nlohmann::json rows = nlohmann::json::array();
  const FeatureBank none(Lexicon({}), {.bank = FeatureSet::none});
  const FeatureBank english = FeatureBankAccess::of(std::make_shared<NaturalBank>(NaturalBank::english()));
  for (const auto& [kind, with_features] : {std::pair(TokenizerKind::words, false),
                                            {TokenizerKind::pieces, false},
                                            {TokenizerKind::bytes, false},
                                            {TokenizerKind::words, true},
                                            {TokenizerKind::pieces, true},
                                            {TokenizerKind::bytes, true}}) {
    const std::string name = fmt::format("{}{}", to_string(kind), with_features ? " with features" : "");
    const Usage before = usage();
    const auto begin = Clock::now();
    const PreparedData prepared = prepare({.train = {data},
                                           .val = {},
                                           .tokenizer = kind,
                                           .given = std::nullopt,
                                           .knobs = {parse_knob("stars: scalar of column stars from 1 to 5"),
                                                     parse_knob("length: scalar of length from 3 to 20")},
                                           .bank = with_features ? &english : &none},
                                          folder / "prepared");
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const Usage after = usage();
    const double processor = (after.seconds - before.seconds) / static_cast<double>(thread_count(0));
    fmt::print("{:20}: {:.1f} MB/s, {:.1f} MB/s by processor time; {} texts; at most {:.0f} MB of memory\n", name,
               megabytes / seconds, megabytes / processor, prepared.train->size() + prepared.val->size(),
               after.peak_mb);
    rows.push_back({{"kind", name},
                    {"mb_per_second", megabytes / seconds},
                    {"mb_per_processor_second", megabytes / processor},
                    {"peak_rss_mb", after.peak_mb}});
  }
  fs::remove_all(folder);
  fmt::print("{}\n", nlohmann::json({{"megabytes", megabytes}, {"threads", thread_count(0)}, {"rows", rows}}).dump());
  return 0;
}

}  // namespace
}  // namespace semfuse

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw semfuse::Error("name a folder that is not there yet");
    return semfuse::run(argv[1], argc > 2 ? argv[2] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_preparation: {}\n", error.what());
    return 2;
  }
}
