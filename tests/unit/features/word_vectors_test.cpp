#include "features/word_vectors.h"

#include <fasttext/fasttext.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "features/vector_training.h"
#include "semfuse/error.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

// Two words, of which one has its own vector only.
WordVectors small_vectors() {
  WordVectorTables tables{.width = 3, .words = {"soup", "bad"}, .word_rows = {1.0f, 0.0f, 0.2f, 0.0f, 1.0f, 0.4f}};
  tables.parts = word_parts("soup");
  std::sort(tables.parts.begin(), tables.parts.end());
  for (std::size_t p = 0; p < tables.parts.size(); ++p)
    tables.part_rows.insert(tables.part_rows.end(), {2.0f, -1.0f, 0.1f * static_cast<float>(p)});
  return WordVectors(tables);
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double ab = 0.0, aa = 0.0, bb = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += static_cast<double>(a[i] * b[i]);
    aa += static_cast<double>(a[i] * a[i]);
    bb += static_cast<double>(b[i] * b[i]);
  }
  return ab / std::sqrt(aa * bb);
}

// Texts in which two kinds of words stand in places of their own.
void write_texts(const std::string& path, std::size_t count) {
  std::ofstream file(path);
  const std::vector<std::string> things = {"soup", "bread", "salad", "coffee"};
  const std::vector<std::string> kinds = {"tasty", "tastier", "awful", "cold"};
  for (std::size_t i = 0; i < count; ++i)
    file << "the " << things[i % 4] << " was " << kinds[i / 4 % 4] << " and we ate the " << things[i / 16 % 4] << '\n';
}

TEST(WordVectors, PartsAreThoseOfFastText) {
  const TemporaryFolder folder;
  write_texts(folder / "words.txt", 20);
  fasttext::Args args;
  args.input = folder / "words.txt";
  args.minn = 3;
  args.maxn = 5;
  args.bucket = WordVectors::kBuckets;
  args.minCount = 1;
  args.verbose = 0;
  args.thread = 1;
  args.epoch = 1;
  args.model = fasttext::model_name::sg;
  fasttext::FastText model;
  model.train(args);
  for (const std::string word : {"unmet", "ab", "d\xC3\xA9j\xC3\xA0 vu", "\xE4\xB8\xAD\xE6\x96\x87\xE5\xAD\x97", "x"}) {
    std::vector<std::uint32_t> expected;
    for (const std::int32_t id : model.getDictionary()->getSubwords(word))
      expected.push_back(static_cast<std::uint32_t>(id - model.getDictionary()->nwords()));
    EXPECT_EQ(word_parts(word), expected) << word;
  }
}

TEST(WordVectors, AWordHasItsOwnOrThatOfItsParts) {
  const WordVectors vectors = small_vectors();
  EXPECT_NEAR(cosine(vectors.vector_of("soup"), {0.5f, -0.5f, -0.1f}), 1.0, 1e-3);
  EXPECT_EQ(vectors.vector_of("SOUP"), vectors.vector_of("soup"));
  EXPECT_TRUE(vectors.knows("soups"));
  EXPECT_GT(cosine(vectors.vector_of("soups"), vectors.vector_of("soup")), 0.5);
  EXPECT_FALSE(vectors.knows("xyz"));
  EXPECT_THAT(vectors.vector_of("xyz"), Each(0.0f));
  // All have the same length.
  const auto length = [&](const char* word) {
    return std::hypot(vectors.vector_of(word)[0], vectors.vector_of(word)[1], vectors.vector_of(word)[2]);
  };
  EXPECT_NEAR(length("soup"), length("soups"), 1e-5);
}

TEST(WordVectors, ColumnsSayWhatTheVectorDoesNot) {
  const WordVectors vectors = small_vectors();
  const std::vector<float> spaced = vectors.columns_of(" Soup"), plain = vectors.columns_of("soup");
  EXPECT_THAT(spaced, SizeIs(vectors.num_columns()));
  EXPECT_THAT(std::vector<float>(spaced.end() - 2, spaced.end()), ElementsAre(1.0f, 1.0f));
  EXPECT_THAT(std::vector<float>(plain.end() - 2, plain.end()), ElementsAre(0.0f, 0.0f));
  EXPECT_TRUE(std::equal(plain.begin(), plain.end() - 2, spaced.begin()));
}

TEST(WordVectors, OthersCanBePutInTheirPlace) {
  const WordVectors vectors = small_vectors();
  const std::vector<std::string> words = {"Xyz", "bad"};
  const std::vector<float> rows = {0.0f, 0.0f, 2.0f, 1.0f, 1.0f, 0.0f};
  const WordVectors more = vectors.with(words, rows);
  EXPECT_NEAR(cosine(more.vector_of("xyz"), {0.0f, 0.0f, 1.0f}), 1.0, 1e-3);
  EXPECT_NEAR(cosine(more.vector_of("bad"), {1.0f, 1.0f, 0.0f}), 1.0, 1e-3);
  EXPECT_EQ(more.vector_of("soup"), vectors.vector_of("soup"));
  EXPECT_FALSE(vectors.knows("xyz"));
}

TEST(WordVectors, AreReadAsTheyWereWritten) {
  const std::string bytes = small_vectors().bytes();
  const WordVectors read = WordVectors::parse(bytes, "here");
  EXPECT_EQ(read.bytes(), bytes);
  EXPECT_EQ(read.vector_of("soups"), small_vectors().vector_of("soups"));
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_THAT([&] { WordVectors::parse(std::string_view(bytes).substr(0, size), "here"); },
                ThrowsMessage<Error>(HasSubstr("here: ")));
  }
  std::string damaged = bytes;
  damaged[30] = static_cast<char>(damaged[30] + 1);
  EXPECT_THAT([&] { WordVectors::parse(damaged, "here"); }, ThrowsMessage<Error>(HasSubstr("checksum")));
}

TEST(WordVectors, TrainingHasTheSameBitsAndFindsWhatIsAlike) {
  const TemporaryFolder folder;
  write_texts(folder / "words.txt", 400);
  const VectorTrainingOptions options = {.width = 10, .num_words = 3600};
  const WordVectors vectors = train_word_vectors(folder / "words.txt", options);
  EXPECT_EQ(vectors.width(), 10U);
  EXPECT_EQ(train_word_vectors(folder / "words.txt", options).bytes(), vectors.bytes());
  EXPECT_GT(cosine(vectors.vector_of("tasties"), vectors.vector_of("tasty")),
            cosine(vectors.vector_of("tasties"), vectors.vector_of("coffee")));
}

TEST(WordVectors, TrainingCanBeStopped) {
  const TemporaryFolder folder;
  write_texts(folder / "words.txt", 4000);
  const auto stop = [](double) { return false; };
  EXPECT_THAT(
      [&] { train_word_vectors(folder / "words.txt", {.width = 200, .num_words = 36'000, .on_progress = stop}); },
      ThrowsMessage<Error>(HasSubstr("was stopped")));
}

TEST(WordVectors, TooLittleTextIsRefused) {
  const TemporaryFolder folder;
  std::ofstream(folder / "words.txt") << "one\ntwo\n";
  EXPECT_THAT([&] { train_word_vectors(folder / "words.txt", {.width = 4, .num_words = 2}); },
              ThrowsMessage<Error>(HasSubstr("word vectors cannot be trained")));
}

}  // namespace
}  // namespace semfuse
