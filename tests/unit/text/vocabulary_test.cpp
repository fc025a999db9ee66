#include "semfuse/vocabulary.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

std::string vocabulary_error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Vocabulary, PutsSpecialsFirstAndSortsTheWords) {
  const Vocabulary vocabulary = Vocabulary::from_words({"good", "Alice", "good", "!"});
  EXPECT_EQ(vocabulary.entries(), (std::vector<std::string>{"<pad>", "<bos>", "<eos>", "!", "Alice", "good"}));
  EXPECT_EQ(vocabulary.size(), 6u);
  EXPECT_EQ(vocabulary.word(4), "Alice");
  EXPECT_EQ(vocabulary.find("good"), 5);
  EXPECT_EQ(vocabulary.find("<eos>"), Vocabulary::kEos);
  EXPECT_EQ(vocabulary.find("bad"), std::nullopt);
}

TEST(Vocabulary, OfTheSyntheticCorpusHas41Entries) {
  const Vocabulary vocabulary = Vocabulary::from_words(synthetic_corpus_words());
  EXPECT_EQ(vocabulary.size(), 41u);
  // In ASCII order: ! , . ? Alice Bob Carol Dave Eve and awful ...
  EXPECT_EQ(vocabulary.find("!"), 3);
  EXPECT_EQ(vocabulary.find(","), 4);
  EXPECT_EQ(vocabulary.find("Eve"), 11);
  EXPECT_EQ(vocabulary.find("wonderful"), 40);
}

TEST(Vocabulary, EncodesASentenceBetweenBosAndEos) {
  const Vocabulary vocabulary = Vocabulary::from_words({"!", "Alice", "good"});
  EXPECT_EQ(vocabulary.encode({"good", "Alice", "!"}), (std::vector<TokenId>{1, 5, 4, 3, 2}));
  EXPECT_EQ(vocabulary.encode({}), (std::vector<TokenId>{1, 2}));
}

TEST(Vocabulary, NamesAnUnknownWord) {
  const Vocabulary vocabulary = Vocabulary::from_words({"Alice", "good"});
  EXPECT_EQ(vocabulary_error_of([&] {
              vocabulary.encode({"Alice", "goood"});
            }),
            "word 2 \"goood\" is not in the vocabulary; did you mean \"good\"?");
  EXPECT_EQ(vocabulary_error_of([&] { vocabulary.encode({"zebra"}); }), "word 1 \"zebra\" is not in the vocabulary");
  EXPECT_EQ(vocabulary_error_of([&] { vocabulary.encode({"eos>"}); }), "word 1 \"eos>\" is not in the vocabulary");
}

TEST(Vocabulary, RefusesSpecialEntriesInsideASentence) {
  const Vocabulary vocabulary = Vocabulary::from_words({"Alice"});
  for (const std::string special : {"<pad>", "<bos>", "<eos>"}) {
    EXPECT_EQ(vocabulary_error_of([&] {
                vocabulary.encode({"Alice", special});
              }),
              "word 2 \"" + special + "\" is a special entry, which no sentence may contain; remove it");
  }
}

TEST(Vocabulary, RefusesMalformedEntries) {
  const std::string wrong_specials = "vocabulary: the first three entries must be <pad>, <bos>, <eos>, in this order";
  EXPECT_EQ(vocabulary_error_of([] { Vocabulary({}); }), wrong_specials);
  EXPECT_EQ(vocabulary_error_of([] { Vocabulary({"<pad>", "<bos>"}); }), wrong_specials);
  EXPECT_EQ(vocabulary_error_of([] { Vocabulary({"<bos>", "<pad>", "<eos>", "good"}); }), wrong_specials);
  EXPECT_EQ(vocabulary_error_of([] {
              Vocabulary({"<pad>", "<bos>", "<eos>", ""});
            }),
            "vocabulary: entry 3 is empty; remove it");
  EXPECT_EQ(vocabulary_error_of([] {
              Vocabulary({"<pad>", "<bos>", "<eos>", "a", "b", "a"});
            }),
            "vocabulary: entry 5 \"a\" appears twice (first as entry 3); remove one");
  EXPECT_EQ(vocabulary_error_of([] { Vocabulary::from_words({"<eos>"}); }),
            "vocabulary: entry 3 \"<eos>\" appears twice (first as entry 2); remove one");
}

}  // namespace
}  // namespace semfuse
