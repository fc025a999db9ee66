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
    const auto found = static_cast<double>(estimated_texts(data));
    EXPECT_NEAR(found, static_cast<double>(count), count < 100000 ? 0.0 : 0.1 * static_cast<double>(count));
  }
}

TEST(DataTables, FewTextsAreReadMoreOftenInSmallerBatches) {
  const TrainingOptions usual = {.epochs = 3, .batch = 128};
  const DataFit large = fit_for(200000, usual);
  EXPECT_EQ(large.batch, 128U);
  EXPECT_EQ(large.epochs, 3U);
  EXPECT_FALSE(large.dropout);
  const DataFit small = fit_for(3000, usual);
  EXPECT_EQ(small.batch, 32U);
  EXPECT_EQ(small.epochs, 6U);
  EXPECT_TRUE(small.dropout);
  EXPECT_EQ(fit_for(1, usual).epochs, 15U);
  EXPECT_EQ(fit_for(0, usual).epochs, 15U);
  // Nobody is given less than the preset says.
  EXPECT_EQ(fit_for(3000, {.epochs = 20, .batch = 128}).epochs, 20U);
}

}  // namespace
}  // namespace semfuse
