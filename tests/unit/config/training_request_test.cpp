#include "config/training_request.h"

#include <gtest/gtest.h>

#include <fstream>

#include "config/data_tables.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

// A file of texts with these labels.
std::string labelled_file(const TemporaryFolder& folder, const std::string& name, const std::string& columns,
                          const std::string& yes, const std::string& no) {
  std::ofstream file(folder / name);
  file << "text\t" << columns << '\n';
  for (int i = 0; i < 40; ++i) file << "text number " << i << " is here\t" << (i % 2 == 0 ? yes : no) << '\n';
  return folder / name;
}

TEST(TrainingRequest, AKnobThatIsTheOnlyOneIsStatedMoreOften) {
  const TemporaryFolder folder;
  const std::string one = labelled_file(folder, "one.tsv", "good", "1", "0");
  const std::string two = labelled_file(folder, "two.tsv", "good\tnew", "1\t0", "0\t1");
  const double usual = TrainingOptions().knob_share;
  ASSERT_LT(usual, kShareOfOneKnob);
  const auto share = [](TrainingRequest request) { return resolve(request).training.knob_share; };
  EXPECT_EQ(share({.data = {one}}), kShareOfOneKnob);
  EXPECT_EQ(share({.data = {two}}), usual);
  // What somebody says holds.
  EXPECT_EQ(share({.settings = {"training.knob_share=0.3"}, .data = {one}}), 0.3);
  EXPECT_EQ(share({.preset = "text", .data = {one}}), usual);
}

}  // namespace
}  // namespace semfuse
