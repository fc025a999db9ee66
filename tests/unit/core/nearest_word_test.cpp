#include "core/nearest_word.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace semfuse {
namespace {

const std::vector<std::string> kWords = {"Alice", "good", "great", "learning_rate", "he", "!"};

TEST(NearestWord, ForgivesEachKindOfSlip) {
  EXPECT_EQ(nearest_word("grea", kWords), "great");                   // a letter missing
  EXPECT_EQ(nearest_word("greaat", kWords), "great");                 // one too many
  EXPECT_EQ(nearest_word("grent", kWords), "great");                  // one wrong
  EXPECT_EQ(nearest_word("graet", kWords), "great");                  // neighbours swapped
  EXPECT_EQ(nearest_word("ALICE", kWords), "Alice");                  // wrong case
  EXPECT_EQ(nearest_word("larning-ratte", kWords), "learning_rate");  // three slips in thirteen letters
}

TEST(NearestWord, IsNothingWhenNoneIsClose) {
  EXPECT_EQ(nearest_word("lr", kWords), std::nullopt);
  EXPECT_EQ(nearest_word("gxxd", kWords), std::nullopt);  // two edits, but four letters allow one
  EXPECT_EQ(nearest_word("x", kWords), std::nullopt);     // would otherwise be one edit from "!"
  EXPECT_EQ(nearest_word("", kWords), std::nullopt);
  EXPECT_EQ(nearest_word("good", {}), std::nullopt);
  EXPECT_EQ(nearest_word(std::string(1000000, 'a'), kWords), std::nullopt);
}

TEST(NearestWord, PrefersFewerEditsThenTheFirst) {
  const std::vector<std::string> words = {"trains", "brains", "grain"};
  EXPECT_EQ(nearest_word("grains", words), "trains");  // each is one edit away
  EXPECT_EQ(nearest_word("grain", words), "grain");
}

TEST(NearestWord, EndsAnErrorMessage) {
  EXPECT_EQ(did_you_mean("goood", kWords), "; did you mean \"good\"?");
  EXPECT_EQ(did_you_mean("lr", kWords), "");
}

}  // namespace
}  // namespace semfuse
