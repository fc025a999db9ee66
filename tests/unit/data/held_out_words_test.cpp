#include "data/held_out_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "data/preparation.h"
#include "data/vector_preparation.h"
#include "semfuse/error.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(HeldOutWords, AreFoundAsWholeWordsInCapitalsOrNot) {
  const HeldOutWords words({"superb", "Paris"});
  EXPECT_TRUE(words.are_in("a superb meal"));
  EXPECT_TRUE(words.are_in("Superb!"));
  EXPECT_TRUE(words.are_in("to PARIS."));
  EXPECT_FALSE(words.are_in("superbly done, Parisian"));
  EXPECT_FALSE(words.are_in(""));
  EXPECT_FALSE(HeldOutWords({}).are_in("superb"));
}

TEST(HeldOutWords, AreReadAWordALine) {
  EXPECT_THAT(parse_held_out_words("\xEF\xBB\xBFgreat\r\n# a note\n\nbad\ngreat\n", "f"), ElementsAre("great", "bad"));
  EXPECT_THAT([] { parse_held_out_words("great\nvery bad\n", "f"); }, ThrowsMessage<Error>(HasSubstr("f:2: ")));
  EXPECT_THAT([] { parse_held_out_words("x\xFF y\n", "f"); }, ThrowsMessage<Error>(HasSubstr("f:1: ")));
  EXPECT_THAT([] { parse_held_out_words("\n", "f"); }, ThrowsMessage<Error>(HasSubstr("f: holds no word")));
}

class HeldOutTexts : public testing::Test {
 protected:
  HeldOutTexts() {
    std::ofstream file(folder_ / "a.txt");
    for (int i = 0; i < 200; ++i)
      file << "the " << (i % 10 == 0 ? "Soup" : "bread") << " was " << (i % 8 == 0 ? "superb" : "good") << " on day "
           << i << '\n';
  }
  PreparationOptions options(std::vector<std::string> held_out) const {
    return {.train = {folder_ / "a.txt"}, .vocabulary = 300, .held_out = std::move(held_out)};
  }
  TemporaryFolder folder_;
};

TEST_F(HeldOutTexts, AreADatasetOfTheirOwnAndTheirWordsTokens) {
  const PreparedData prepared = prepare(options({"superb", "soup"}), folder_ / "cache");
  EXPECT_EQ(prepared.report.held_out_texts, 40U);  // 25 + 20 - 5
  ASSERT_NE(prepared.held_out, nullptr);
  EXPECT_EQ(prepared.held_out->size(), 40U);
  EXPECT_EQ(prepared.report.train_texts + prepared.report.val_texts, 160U);
  const Vocabulary vocabulary = prepared.tokenizer.vocabulary();
  const std::optional<TokenId> superb = vocabulary.find(" superb");
  ASSERT_TRUE(superb && vocabulary.find("superb") && vocabulary.find(" soup"));
  EXPECT_FALSE(vocabulary.find(" Soup"));  // Training has no such text, and nobody named it.
  std::size_t met = 0;
  for (std::size_t text = 0; text < prepared.held_out->size(); ++text)
    met += static_cast<std::size_t>(std::ranges::count(prepared.held_out->ids(text), *superb));
  EXPECT_EQ(met, 25U);
  for (std::size_t text = 0; text < prepared.train->size(); ++text)
    EXPECT_EQ(std::ranges::count(prepared.train->ids(text), *superb), 0);
  EXPECT_TRUE(prepare(options({"superb", "soup"}), folder_ / "cache").was_there);
}

TEST_F(HeldOutTexts, WithoutThemEverythingIsAsBefore) {
  const PreparedData prepared = prepare(options({}), folder_ / "cache");
  EXPECT_EQ(prepared.held_out, nullptr);
  EXPECT_NE(fingerprint_of(options({})), fingerprint_of(options({"superb"})));
}

TEST_F(HeldOutTexts, WordsThatNoTextHasAreRefused) {
  EXPECT_THAT([&] { prepare(options({"zebra"}), folder_ / "cache"); },
              ThrowsMessage<Error>(HasSubstr("no text has one of the 1 held-out words")));
}

TEST_F(HeldOutTexts, VectorsNeverReadThem) {
  const auto vectors = prepare_vectors(options({"superb"}), 8, folder_ / "cache");
  const auto with = prepare_vectors(options({}), 8, folder_ / "cache");
  EXPECT_TRUE(with->knows("superb"));
  EXPECT_FALSE(vectors->knows("superb"));
  EXPECT_TRUE(vectors->knows("bread"));
  EXPECT_EQ(prepare_vectors(options({"superb"}), 8, folder_ / "cache")->bytes(), vectors->bytes());
}

}  // namespace
}  // namespace semfuse
