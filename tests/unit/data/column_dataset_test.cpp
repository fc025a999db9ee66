#include "data/column_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "io/file.h"
#include "semfuse/error.h"
#include "support/faulty_file_layer.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace fs = std::filesystem;

const std::vector<Knob>& knobs() {
  static const std::vector<Knob> list = {parse_knob("stars: scalar of column stars from 1 to 5"),
                                         parse_knob("kind: probability of column kind"),
                                         parse_knob("mark: distribution of final_mark over . !")};
  return list;
}

// Two texts with three different rows of two features.
ColumnWriter::Block block() {
  ColumnWriter::Block result{.lengths = {4, 3}, .ids = {1, 7, 8, 2, 1, 9, 2}, .row_of = {0, 1, 1, 2, 0, 1, 2}};
  result.rows = {0.0f, 1.0f, 0.5f, 0.0f, 1.0f, 1.0f};
  result.labels.resize(6);
  result.labels[0].value = 4.5;
  result.labels[1].positive = 1;
  result.labels[2].label = 1;
  result.labels[4].negative = 1;
  result.bytes = 12;
  return result;
}

void write(const fs::path& folder, FileLayer& files = FileLayer::system()) {
  fs::create_directory(folder);
  ColumnWriter writer(folder, 2, knobs(), 10, files);
  writer.add(block());
  writer.add(block());
  writer.finish();
}

// Of more different rows than a writer knows at a time, each once and then all of them again.
TEST(ColumnWriter, RowsBeyondWhatItKnowsAreThereTwice) {
  constexpr std::size_t kFeatures = 64, kRows = 100'000, kTexts = 2 * kRows / 50;
  static_assert(kRows * kFeatures * sizeof(float) < ColumnWriter::kKnownBytes);
  const auto value = [](std::size_t row, std::size_t f) { return static_cast<float>(row >> (f % 20) & 1); };
  const auto written = [&](const fs::path& folder, std::size_t texts_a_block) {
    fs::create_directory(folder);
    ColumnWriter writer(folder, kFeatures, {}, 10);
    for (std::size_t text = 0; text < kTexts;) {
      ColumnWriter::Block block;
      const std::size_t end = std::min(kTexts, text + texts_a_block);
      const std::size_t first_row = text * 50 % kRows;
      for (; text < end; ++text) {
        block.lengths.push_back(50);
        for (std::size_t i = 0; i < 50; ++i) {
          const std::size_t row = text * 50 % kRows + i;
          block.ids.push_back(static_cast<TokenId>(row % 7));
          block.row_of.push_back(static_cast<std::uint32_t>(row - first_row));
          for (std::size_t f = 0; f < kFeatures; ++f) block.rows.push_back(value(row, f));
        }
      }
      writer.add(block);
    }
    return writer.finish();
  };
  const TemporaryFolder folder;
  const ColumnSizes sizes = written(folder.path() / "a", 100);
  EXPECT_GT(sizes.rows, kRows);
  EXPECT_LE(sizes.rows, 2 * kRows);
  EXPECT_EQ(written(folder.path() / "b", 10), sizes);
  for (const char* name : {"row_of.u32", "rows.f32"}) {
    EXPECT_EQ(read_text(folder.path() / "a" / name), read_text(folder.path() / "b" / name)) << name;
  }
  const ColumnDataset dataset(folder.path() / "a", {});
  std::vector<float> rows(50 * kFeatures);
  for (std::size_t text = 0; text < kTexts; text += 97) {
    dataset.copy_features(text, rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows[i], value(text * 50 % kRows + i / kFeatures, i % kFeatures));
    }
  }
}

TEST(ColumnDataset, HasWhatWasWritten) {
  const TemporaryFolder folder;
  write(folder.path() / "d");
  const ColumnDataset dataset(folder.path() / "d", knobs());
  ASSERT_EQ(dataset.size(), 4U);
  EXPECT_EQ(dataset.sizes().rows, 3U);
  EXPECT_EQ(dataset.num_bytes(), 24U);
  for (const std::size_t first : {0, 2}) {
    EXPECT_THAT(dataset.ids(first), ElementsAre(1, 7, 8, 2));
    EXPECT_THAT(dataset.ids(first + 1), ElementsAre(1, 9, 2));
    std::vector<float> rows(6);
    dataset.copy_features(first + 1, rows);
    EXPECT_THAT(rows, ElementsAre(0.0f, 1.0f, 0.5f, 0.0f, 1.0f, 1.0f));
    EXPECT_EQ(dataset.label(first, 0).value, 4.5);
    EXPECT_EQ(dataset.label(first, 1).positive, 1U);
    EXPECT_EQ(dataset.label(first, 2).label, 1U);
    EXPECT_EQ(dataset.label(first + 1, 0).value, std::nullopt);
    EXPECT_EQ(dataset.label(first + 1, 1).negative, 1U);
    EXPECT_EQ(dataset.label(first + 1, 2).label, std::nullopt);
  }
}

TEST(ColumnDataset, RefusesWhatIsNotWhole) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "d";
  write(path);
  EXPECT_THAT([&] { ColumnDataset(path, {}); }, ThrowsMessage<Error>(HasSubstr("other knobs")));
  for (const char* name : {"ends.u64", "ids.i32", "row_of.u32", "rows.f32", "labels.u32"}) {
    const std::string whole = read_text(path / name);
    std::ofstream(path / name, std::ios::binary) << whole.substr(1);
    EXPECT_THAT([&] { ColumnDataset(path, knobs()); }, ThrowsMessage<Error>(HasSubstr(name)));
    fs::remove(path / name);
    EXPECT_THAT([&] { ColumnDataset(path, knobs()); }, ThrowsMessage<Error>(HasSubstr(name)));
    std::ofstream(path / name, std::ios::binary) << whole;
  }
  EXPECT_NO_THROW(ColumnDataset(path, knobs()));
}

TEST(ColumnDataset, ChecksNumbersWhenTheyAreRead) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "d";
  write(path);
  const auto damaged = [&](const char* name, std::size_t place, auto value) {
    const std::string whole = read_text(path / name);
    std::string bad = whole;
    std::memcpy(bad.data() + place * sizeof(value), &value, sizeof(value));
    std::ofstream(path / name, std::ios::binary) << bad;
    const ColumnDataset dataset(path, knobs());
    std::vector<float> rows(8);
    EXPECT_THAT(
        [&] {
          dataset.ids(0);
          dataset.copy_features(0, rows);
        },
        ThrowsMessage<Error>(HasSubstr("damaged")))
        << name;
    std::ofstream(path / name, std::ios::binary) << whole;
  };
  damaged("ends.u64", 0, std::uint64_t{1} << 60);
  damaged("ends.u64", 0, std::uint64_t{1});
  damaged("ids.i32", 1, std::int32_t{10});
  damaged("ids.i32", 1, std::int32_t{-1});
  damaged("row_of.u32", 1, std::uint32_t{3});
  damaged("rows.f32", 2, std::numeric_limits<float>::infinity());
}

TEST(ColumnDataset, SizesAreReadStrictly) {
  const std::string good = to_json(ColumnSizes{.texts = 2, .ids = 7, .vocabulary = 10, .bytes = 3});
  EXPECT_EQ(parse_column_sizes(good, "x").ids, 7U);
  for (const char* bad : {"", "{}", "[]", "{\"format\": \"semfuse-columns-1\"}"}) {
    EXPECT_THROW(parse_column_sizes(bad, "x"), Error) << bad;
  }
  EXPECT_THROW(parse_column_sizes(to_json(ColumnSizes{.texts = 4, .ids = 7}), "x"), Error);
  EXPECT_THROW(parse_column_sizes(to_json(ColumnSizes{.texts = 2, .ids = 7, .rows = 3}), "x"), Error);
}

TEST(ColumnWriter, EveryFailureIsAnError) {
  FaultyFileLayer files;
  for (const auto fault : {FaultyFileLayer::Fault::error, FaultyFileLayer::Fault::full_disk}) {
    bool failed = true;
    std::size_t failures = 0;
    for (std::size_t call = 0; failed; ++call) {
      const TemporaryFolder folder;
      files.fail_at(call, fault, ENOSPC);
      try {
        write(folder.path() / "d", files);
        failed = !files.last_failed().empty();
        EXPECT_NO_THROW(ColumnDataset(folder.path() / "d", knobs()));
        if (fault == FaultyFileLayer::Fault::full_disk && call < 40) failed = true;
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        ++failures;
      }
    }
    EXPECT_GT(failures, 3U);
  }
}

}  // namespace
}  // namespace semfuse
