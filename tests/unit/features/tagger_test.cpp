#include "features/tagger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "features/tagger_training.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

UniversalTag tag(std::string_view name) {
  return *find_universal_tag(name);
}

// "the X can Y" and "a can Xs": words that only their neighbours tell apart.
std::vector<TaggedSentence> small_treebank() {
  std::vector<TaggedSentence> sentences;
  for (const char* noun : {"dog", "cat", "fish", "bird"}) {
    for (const char* verb : {"run", "sing", "fish", "walk"}) {
      sentences.push_back(
          {{"the", noun, "can", verb, "."}, {tag("DET"), tag("NOUN"), tag("AUX"), tag("VERB"), tag("PUNCT")}});
      sentences.push_back(
          {{"the", "can", "is", "a", noun}, {tag("DET"), tag("NOUN"), tag("AUX"), tag("DET"), tag("NOUN")}});
    }
  }
  return sentences;
}

std::vector<UniversalTag> tags_in_order(const Tagger& tagger, const std::vector<std::string_view>& words) {
  Tagger::History history;
  std::vector<UniversalTag> tags;
  for (const std::string_view word : words) tags.push_back(tagger.tag_next(word, history));
  return tags;
}

TEST(Tagger, LearnsWhatNeighboursTell) {
  const Tagger tagger = train_tagger(small_treebank());
  for (const TaggedSentence& sentence : small_treebank()) {
    const std::vector<std::string_view> words(sentence.words.begin(), sentence.words.end());
    EXPECT_EQ(tagger.tag_sentence(words), sentence.tags);
    EXPECT_EQ(tags_in_order(tagger, words), sentence.tags);
  }
}

TEST(Tagger, TrainingIsRepeatableAndTheFileRoundTrips) {
  const TaggerTrainingOptions options = {.passes = 3, .features = 50};
  const std::string bytes = train_tagger(small_treebank(), options).bytes();
  EXPECT_EQ(train_tagger(small_treebank(), options).bytes(), bytes);
  const Tagger read = Tagger::parse(bytes, "file");
  EXPECT_EQ(read.bytes(), bytes);
  EXPECT_LE(read.in_order().size(), 50U);
  EXPECT_NE(train_tagger(small_treebank(), {.passes = 3, .features = 50, .seed = 2}).bytes(), bytes);
}

TEST(Tagger, RefusesDamagedFiles) {
  const std::string bytes = train_tagger(small_treebank()).bytes();
  const auto expect_refused = [](const std::string& text, const std::string& what) {
    EXPECT_THAT([&] { Tagger::parse(text, "file"); },
                testing::ThrowsMessage<Error>(testing::AllOf(testing::StartsWith("file: "), testing::HasSubstr(what))));
  };
  expect_refused("", "is no tagger");
  expect_refused("hello", "is no tagger");
  expect_refused(bytes.substr(0, bytes.size() / 2), "checksum");
  std::string flipped = bytes;
  flipped[40] = static_cast<char>(flipped[40] ^ 1);
  expect_refused(flipped, "checksum");
  EXPECT_THROW(Tagger::load("/nowhere/english.tagger"), Error);
}

TEST(Tagger, RefusesImpossibleTrainings) {
  EXPECT_THROW(train_tagger({}), Error);
  EXPECT_THROW(train_tagger(small_treebank(), {.passes = 0}), Error);
  EXPECT_THROW(train_tagger(small_treebank(), {.features = 0}), Error);
  EXPECT_THROW(train_tagger(small_treebank(), {}, [](std::size_t, std::size_t) { return false; }), Error);
}

TEST(Tagger, EnglishIsSmallAndKnowsEnglish) {
  EXPECT_LT(std::filesystem::file_size(SEMFUSE_SOURCE_DIR "/taggers/english.tagger"), 1'000'000U);
  const Tagger& english = *Tagger::english();
  const std::vector<std::string_view> words = {"She", "did", "n't", "like", "the", "old", "house", "in", "London", "."};
  const std::vector<UniversalTag> expected = {tag("PRON"), tag("AUX"),  tag("PART"), tag("VERB"),  tag("DET"),
                                              tag("ADJ"),  tag("NOUN"), tag("ADP"),  tag("PROPN"), tag("PUNCT")};
  EXPECT_EQ(english.tag_sentence(words), expected);
  EXPECT_EQ(tags_in_order(english, words), expected);
}

// Words that follow change nothing in the tags of those before them.
TEST(Tagger, InOrderLooksAtNothingThatFollows) {
  const Tagger& english = *Tagger::english();
  const std::vector<std::string_view> words = {"The", "old", "man", "the", "boats", "and", "that", "is", "that"};
  const std::vector<UniversalTag> all = tags_in_order(english, words);
  for (std::size_t n = 0; n < words.size(); ++n) {
    EXPECT_EQ(tags_in_order(english, {words.begin(), words.begin() + static_cast<std::ptrdiff_t>(n)}),
              std::vector<UniversalTag>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)));
  }
}

// Sums that are added up in parts come to the same tags.
TEST(Tagger, TagsTypesAsWords) {
  const Tagger& tagger = *Tagger::english();
  Tagger::History history;
  Tagger::TypeHistory types(tagger);
  for (const char* word :
       {"The", "old", "man", "the", "boats", ",", "and", "I", "can", "can", "3.5", "Cans", "NASA", "."}) {
    const TagType type = tagger.type_of(word);
    const TagScores after = tagger.after_tag(type, types.tag_before());
    EXPECT_EQ(tagger.tag_next(type, after, types), tagger.tag_next(word, history)) << word;
  }
}

}  // namespace
}  // namespace semfuse
