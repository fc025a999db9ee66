#include "config/data_tables.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temporary_folder.h"

namespace semfuse {
namespace {

TEST(DataTables, CountsTextsOfSmallFilesAndEstimatesLargeOnes) {
  const TemporaryFolder folder;
  for (const std::size_t count : {3, 5000, 60000, 600000}) {
    const std::string path = folder / (std::to_string(count) + ".txt");
    std::ofstream file(path);
    for (std::size_t i = 0; i < count; ++i) file << "a text of some words\n";
    file.close();
    DataOptions data;
    data.train = {path};
    const DataSize found = estimated_size(data);
    const auto texts = static_cast<double>(found.texts);
    EXPECT_NEAR(texts, static_cast<double>(count), count < 100000 ? 0.0 : 0.1 * static_cast<double>(count));
    EXPECT_NEAR(static_cast<double>(found.bytes), 20.0 * texts, 0.001 * texts);
  }
}

TEST(DataTables, FewTextsAreReadMoreOftenInSmallerBatches) {
  const TrainingOptions usual = {.epochs = 3, .batch = 128};
  const auto fit = [&](std::uint64_t texts, std::uint64_t bytes) {
    return fit_for({.texts = texts, .bytes = bytes}, usual, /*max_length=*/128);
  };
  const DataFit large = fit(200'000, 9'000'000);
  EXPECT_EQ(large.batch, 128U);
  EXPECT_EQ(large.epochs, 3U);
  EXPECT_FALSE(large.dropout);
  EXPECT_EQ(large.vocabulary, 8000U);
  const DataFit middle = fit(40'000, 2'000'000);
  EXPECT_EQ(middle.vocabulary, 4000U);
  EXPECT_EQ(middle.batch, 123U);
  EXPECT_EQ(middle.epochs, 8U);
  EXPECT_EQ(middle.dropout, 0.2);
  const DataFit larger = fit(100'000, 3'600'000);
  EXPECT_EQ(larger.epochs, 4U);
  EXPECT_EQ(larger.dropout, 0.1);
  const DataFit small = fit(3'000, 135'000);
  EXPECT_EQ(small.vocabulary, 1000U);
  EXPECT_EQ(small.batch, 32U);
  EXPECT_EQ(small.epochs, 15U);
  EXPECT_EQ(small.dropout, 0.2);
  EXPECT_EQ(fit(1, 10).epochs, 15U);
  EXPECT_EQ(fit(0, 0).epochs, 15U);
  // Nobody is given less than the preset says.
  EXPECT_EQ(fit_for({.texts = 3000, .bytes = 100'000}, {.epochs = 20, .batch = 128}, 128).epochs, 20U);
}

TEST(DataTables, LongTextsTakeSmallerBatches) {
  const TrainingOptions usual = {.epochs = 3, .batch = 128};
  EXPECT_EQ(fit_for({.texts = 20'000, .bytes = 9'000'000}, usual, 128).batch, 14U);
  EXPECT_EQ(fit_for({.texts = 20'000, .bytes = 900'000'000}, usual, 128).batch, 11U);  // Cut into sequences.
  EXPECT_EQ(fit_for({.texts = 20'000, .bytes = 900'000'000}, usual, 1024).batch, 8U);
}

TEST(DataTables, MuchTextIsLearnedFasterAndLongTextsReadWhatIsNear) {
  const TrainingOptions usual = {.epochs = 3, .batch = 128};
  EXPECT_EQ(fit_for({.texts = 10'000, .bytes = 1'000'000}, usual, 128).optimizer, OptimizerKind::adamw);
  EXPECT_EQ(fit_for({.texts = 100'000, .bytes = 5'000'000}, usual, 128).optimizer, OptimizerKind::muon);
  EXPECT_FALSE(fit_for({.texts = 10'000, .bytes = 1'000'000}, usual, 128).distance_bias);
  const DataFit long_texts = fit_for({.texts = 2'500, .bytes = 1'000'000}, usual, 128);
  EXPECT_TRUE(long_texts.distance_bias);
  EXPECT_EQ(long_texts.batch, 8U);
  EXPECT_EQ(long_texts.dropout, 0.1);
  EXPECT_EQ(fit_for({.texts = 1'000, .bytes = 400'000}, usual, 128).dropout, 0.2);
}

}  // namespace
}  // namespace semfuse
