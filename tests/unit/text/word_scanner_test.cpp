#include "text/word_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace semfuse {
namespace {

using testing::ElementsAre;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const ScannedWord& word : scan_words(text)) words.emplace_back(text.substr(word.begin, word.end - word.begin));
  return words;
}

TEST(WordScanner, SetsMarksApart) {
  EXPECT_THAT(words_of("The paper, very good!"), ElementsAre("The", "paper", ",", "very", "good", "!"));
  EXPECT_THAT(words_of("wait... (what?!) --no"), ElementsAre("wait", "...", "(", "what", "?", "!", ")", "--", "no"));
  EXPECT_THAT(words_of("a well-known $5 cat"), ElementsAre("a", "well", "-", "known", "$", "5", "cat"));
  EXPECT_THAT(words_of(" \t\n"), ElementsAre());
  EXPECT_THAT(words_of(""), ElementsAre());
}

TEST(WordScanner, SplitsContractions) {
  EXPECT_THAT(words_of("I don't; it's he'll've"), ElementsAre("I", "do", "n't", ";", "it", "'s", "he", "'ll", "'ve"));
  EXPECT_THAT(words_of("They’re CAN'T cannot"), ElementsAre("They", "’re", "CA", "N'T", "can", "not"));
  EXPECT_THAT(words_of("o'clock 'tis the dogs' 'quoted'"),
              ElementsAre("o'clock", "'", "tis", "the", "dogs", "'", "'", "quoted", "'"));
  // As texts that were split before have them.
  EXPECT_THAT(words_of("do n't , it 's"), ElementsAre("do", "n't", ",", "it", "'s"));
}

TEST(WordScanner, SaysWhatIsWrittenAsOne) {
  const std::vector<ScannedWord> words = scan_words("we don't-");
  ASSERT_EQ(words.size(), 4U);
  EXPECT_FALSE(words[1].joined);
  EXPECT_TRUE(words[2].joined);
  EXPECT_FALSE(words[3].joined);
  EXPECT_EQ(words[2].begin, 5U);
  EXPECT_EQ(words[2].end, 8U);
}

TEST(WordScanner, KeepsNumbersAbbreviationsAndNames) {
  EXPECT_THAT(words_of("3.5, 1,000 at 10:30."), ElementsAre("3.5", ",", "1,000", "at", "10:30", "."));
  EXPECT_THAT(words_of("Mr. Fox of the U.S. e.g. me"), ElementsAre("Mr.", "Fox", "of", "the", "U.S.", "e.g.", "me"));
  EXPECT_THAT(words_of("see a_b@example.com."), ElementsAre("see", "a_b@example.com", "."));
  EXPECT_THAT(words_of("The end.The start"), ElementsAre("The", "end", ".", "The", "start"));
}

TEST(WordScanner, KnowsMarksAndSpacesBeyondAscii) {
  EXPECT_THAT(words_of("“Zoë”\u00a0– naïve…"), ElementsAre("“", "Zoë", "”", "–", "naïve", "…"));
  EXPECT_THAT(words_of("ok 👍👍 ¡hola!"), ElementsAre("ok", "👍👍", "¡", "hola", "!"));
}

TEST(WordScanner, AnyBytesAreText) {
  EXPECT_THAT(words_of("a\xff\xfe b\xe2\x80"), ElementsAre("a\xff\xfe", "b\xe2\x80"));
  const std::string endless(10000, 'x');
  for (const std::string& word : words_of(endless)) EXPECT_LE(word.size(), WordScanner::kMostBytes);
}

TEST(WordScanner, PiecesGiveTheSameWords) {
  const std::vector<std::string> parts = {"do", "n't", "'",    "’",    ".", "..", " ",   "3",      ",",  "Mr",
                                          "U",  "é",   "\xff", "\xe2", "—", "x",  "...", "cannot", "\n", "A"};
  std::mt19937 random(7);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string text;
    for (std::size_t i = random() % 12; i > 0; --i) text += parts[random() % parts.size()];
    WordScanner scanner;
    std::vector<ScannedWord> words;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t length = 1 + random() % 3;
      scanner.append(std::string_view(text).substr(at, length));
      at = std::min(text.size(), at + length);
      for (const ScannedWord& word : scanner.words()) {
        EXPECT_EQ(scanner.text(word), text.substr(word.begin, word.end - word.begin));
        words.push_back(word);
      }
      EXPECT_TRUE(std::string_view(text).substr(0, at).ends_with(scanner.unfinished()));
    }
    scanner.end_word();
    words.insert(words.end(), scanner.words().begin(), scanner.words().end());
    EXPECT_EQ(words, scan_words(text)) << text;
    for (std::size_t i = 0; i < words.size(); ++i) {
      EXPECT_LT(words[i].begin, words[i].end);
      EXPECT_LE(i == 0 ? 0 : words[i - 1].end, words[i].begin);
    }
  }
}

}  // namespace
}  // namespace semfuse
