#include "text/word_splitter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace semfuse {
namespace {

using Words = std::vector<std::string>;

Words splitter_words_of(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const std::size_t length = first_word_length(text);
    if (length == 0 || length > text.size()) throw std::logic_error("no word");
    words.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return words;
}

// Every expected list is what Hugging Face's ByteLevel makes of the text.
TEST(WordSplitter, GivesAWordTheSpaceBeforeIt) {
  EXPECT_EQ(splitter_words_of("The food, very good!"), (Words{"The", " food", ",", " very", " good", "!"}));
  EXPECT_EQ(splitter_words_of(" 2nd  place"), (Words{" 2", "nd", " ", " place"}));
  EXPECT_EQ(splitter_words_of("<eos>a"), (Words{"<", "eos", ">", "a"}));
  EXPECT_EQ(splitter_words_of(""), Words{});
}

TEST(WordSplitter, SetsEnglishEndingsApart) {
  EXPECT_EQ(splitter_words_of("I'm they'll don't we've 'sad 'x"),
            (Words{"I", "'m", " they", "'ll", " don", "'t", " we", "'ve", " '", "sad", " '", "x"}));
  EXPECT_EQ(splitter_words_of("'"), Words{"'"});
  EXPECT_EQ(splitter_words_of("'l"), (Words{"'", "l"}));
  EXPECT_EQ(splitter_words_of("'S"), (Words{"'", "S"}));
}

TEST(WordSplitter, LeavesTheLastSpaceToTheWord) {
  EXPECT_EQ(splitter_words_of("a   b"), (Words{"a", "  ", " b"}));
  EXPECT_EQ(splitter_words_of("a \n b"), (Words{"a", " \n", " b"}));
  EXPECT_EQ(splitter_words_of("a\tb\n\nc"), (Words{"a", "\t", "b", "\n", "\n", "c"}));
  EXPECT_EQ(splitter_words_of("a  "), (Words{"a", "  "}));
  EXPECT_EQ(splitter_words_of(" "), Words{" "});
}

TEST(WordSplitter, ABlankBeforeTheTextBelongsToItsFirstWord) {
  for (const std::string text : {"The food", "'s", " a", "  a", "\tb", " ", "\n\n", "caf\u00E9!", "\u3000x", "7th"}) {
    EXPECT_EQ(first_word_length_after_blank(text) + 1, first_word_length(" " + text)) << text;
  }
  EXPECT_EQ(first_word_length_after_blank(""), 0U);
}

TEST(WordSplitter, KnowsUnicode) {
  EXPECT_EQ(splitter_words_of("\u201Ccaf\u00E9\u201D \u65E5\u672C\u8A9E\u3002\u0663\u00BD"),
            (Words{"\u201C", "caf\u00E9", "\u201D", " \u65E5\u672C\u8A9E", "\u3002", "\u0663\u00BD"}));
  EXPECT_EQ(splitter_words_of("a\u00A0\u3000b"), (Words{"a", "\u00A0", "\u3000", "b"}));
  EXPECT_EQ(splitter_words_of("\U0001D400\U0001F642"), (Words{"\U0001D400", "\U0001F642"}));
  EXPECT_EQ(character_class(0x10FFFF), CharacterClass::other);
  EXPECT_EQ(character_class(0x10000), CharacterClass::letter);
}

TEST(WordSplitter, TakesBytesThatAreNotUtf8AsMarks) {
  EXPECT_EQ(splitter_words_of("a \xFF\xFE!b\xC3"), (Words{"a", " \xFF\xFE!", "b", "\xC3"}));
  EXPECT_EQ(splitter_words_of(std::string("a\0b", 3)), (Words{"a", std::string(1, '\0'), "b"}));
}

}  // namespace
}  // namespace semfuse
