#include "data/preparation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "semfuse/error.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

void write_texts(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string labelled_reviews(std::size_t count) {
  std::ostringstream text;
  text << "text\tstars\n";
  for (std::size_t i = 0; i < count; ++i) {
    text << "the soup was number " << i << " of them all, and " << (i % 3 == 0 ? "good!" : "bad.") << '\t' << i % 5 + 1
         << '\n';
  }
  return text.str();
}

const FeatureBank& no_features() {
  static const FeatureBank bank(Lexicon({}), {.bank = FeatureSet::none});
  return bank;
}

PreparationOptions options_for(const std::string& file, TokenizerKind kind = TokenizerKind::words) {
  return {.train = {file},
          .val = {},
          .max_length = 12,
          .tokenizer = kind,
          .vocabulary = 400,
          .given = std::nullopt,
          .knobs = {parse_knob("stars: scalar of column stars from 1 to 5"),
                    parse_knob("mark: distribution of final_mark over . !")},
          .bank = &no_features()};
}

std::map<std::string, std::string> files_in(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[fs::relative(entry.path(), folder).string()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return files;
}

// Blocks of a megabyte, several of them, so that threads have something to do.
TEST(Preparation, WritesTheSameBytesForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  write_texts(folder / "a.tsv", labelled_reviews(40'000));
  for (const TokenizerKind kind : {TokenizerKind::words, TokenizerKind::pieces, TokenizerKind::bytes}) {
    std::map<std::string, std::string> expected;
    for (const std::size_t threads : {1, 2, 7}) {
      PreparationOptions options = options_for(folder / "a.tsv", kind);
      options.threads = threads;
      const std::string cache = folder / (std::string(to_string(kind)) + std::to_string(threads));
      const PreparedData prepared = prepare(options, cache);
      EXPECT_EQ(prepared.report.train_texts + prepared.report.val_texts, 40'000U);
      const std::map<std::string, std::string> files = files_in(cache);
      EXPECT_GT(files.size(), 10U);
      if (expected.empty()) expected = files;
      EXPECT_TRUE(files == expected) << to_string(kind) << ", " << threads << " threads";
    }
  }
}

TEST(Preparation, IsFoundAgainUnlessTheFileIsAnother) {
  const TemporaryFolder folder;
  write_texts(folder / "a.tsv", labelled_reviews(200));
  const PreparationOptions options = options_for(folder / "a.tsv");
  const PreparedData first = prepare(options, folder / "cache");
  EXPECT_FALSE(first.was_there);
  EXPECT_TRUE(prepare(options, folder / "cache").was_there);
  write_texts(folder / "a.tsv", labelled_reviews(201));
  const PreparedData other = prepare(options, folder / "cache");
  EXPECT_FALSE(other.was_there);
  EXPECT_NE(other.fingerprint, first.fingerprint);
}

TEST(Preparation, WhatSomebodyLeftIsRemovedAndNeverUsed) {
  const TemporaryFolder folder;
  write_texts(folder / "a.tsv", labelled_reviews(200));
  const PreparationOptions options = options_for(folder / "a.tsv");
  const fs::path left = folder / ("cache/" + fingerprint_of(options) + ".tmp-1-0");
  fs::create_directories(left / "train");
  write_texts(left / "train/ids.i32", "half");
  EXPECT_FALSE(prepare(options, folder / "cache").was_there);
  EXPECT_FALSE(fs::exists(left));
}

TEST(Preparation, WhatIsDamagedIsMadeAgain) {
  const TemporaryFolder folder;
  write_texts(folder / "a.tsv", labelled_reviews(200));
  const PreparationOptions options = options_for(folder / "a.tsv");
  const fs::path cache = folder / "cache";
  const fs::path made = cache / prepare(options, cache).fingerprint;
  const auto whole = files_in(made);
  for (const char* name : {"train/ids.i32", "val/columns.json", "tokenizer.json", "report.json"}) {
    fs::resize_file(made / name, fs::file_size(made / name) / 2);
    EXPECT_FALSE(prepare(options, cache).was_there) << name;
    EXPECT_EQ(files_in(made), whole) << name;
  }
  EXPECT_TRUE(prepare(options, cache).was_there);
}

TEST(Preparation, NothingIsLeftOfWhatFailed) {
  const TemporaryFolder folder;
  write_texts(folder / "a.tsv", labelled_reviews(20'000) + "x\t9\n" + labelled_reviews(20'000).substr(11) + "y\t8\n");
  for (const std::size_t threads : {1, 2, 7}) {
    PreparationOptions options = options_for(folder / "a.tsv");
    options.threads = threads;
    EXPECT_THAT([&] { prepare(options, folder / "cache"); },
                ThrowsMessage<Error>(HasSubstr("a.tsv:20002: column stars says \"9\"")));
    EXPECT_TRUE(fs::is_empty(folder / "cache"));
  }
  PreparationOptions options = options_for(folder / "a.tsv");
  options.on_progress = [](double done) { return done < 0.1; };
  EXPECT_THAT([&] { prepare(options, folder / "cache"); }, ThrowsMessage<Error>(HasSubstr("stopped")));
  EXPECT_TRUE(fs::is_empty(folder / "cache"));
  options.on_progress = nullptr;
  options.skip_bad = true;
  EXPECT_EQ(prepare(options, folder / "cache").report.bad, 2U);
}

TEST(Preparation, FilesAreReadAsTheTableOptionsSay) {
  const TemporaryFolder folder;
  write_texts(folder / "rows", labelled_reviews(200).substr(11));  // Neither an ending nor a heading.
  PreparationOptions options = options_for(folder / "rows");
  EXPECT_THAT([&] { prepare(options, folder / "cache"); }, ThrowsMessage<Error>(HasSubstr("say --format")));
  options.table.format = TableFormat::tsv;
  options.table.heading = {"text", "stars"};
  const PreparedData data = prepare(options, folder / "cache");
  EXPECT_EQ(data.report.train_texts + data.report.val_texts, 200U);
  EXPECT_EQ(data.report.text_column, "text");
  // Read in another way, they are other data.
  std::set<std::string> fingerprints = {data.fingerprint};
  options.table.heading = {"text", "stars "};
  EXPECT_TRUE(fingerprints.insert(fingerprint_of(options)).second);
  options.table.heading = {"text\n5 stars"};
  EXPECT_TRUE(fingerprints.insert(fingerprint_of(options)).second);
  options.table = {.format = TableFormat::csv, .heading = {"text", "stars"}};
  EXPECT_TRUE(fingerprints.insert(fingerprint_of(options)).second);
  options.table.format.reset();
  EXPECT_TRUE(fingerprints.insert(fingerprint_of(options)).second);
}

TEST(Preparation, SeveralMayDoItAtOnce) {
  const TemporaryFolder folder;
  write_texts(folder / "a.tsv", labelled_reviews(20'000));
  const PreparationOptions options = options_for(folder / "a.tsv");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(prepare(options, folder / "cache").report.val_left_out, 0U); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "cache"), {}), 1);
}

}  // namespace
}  // namespace semfuse
