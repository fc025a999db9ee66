#include "io/quoted_text.h"

#include <gtest/gtest.h>

namespace semfuse {
namespace {

TEST(QuotedText, StaysOnOneLineAndValid) {
  EXPECT_EQ(quoted_text("plain"), "\"plain\"");
  EXPECT_EQ(quoted_text("a\nb\t\"\\\x07\x7F"), R"("a\nb\t\"\\\x07\x7f")");
  EXPECT_EQ(quoted_text("caf\xC3\xA9 \xF0\x9F\x98\x80"), "\"caf\xC3\xA9 \xF0\x9F\x98\x80\"");
  EXPECT_EQ(quoted_text("\xFF\xC3"), R"("\xff\xc3")");
  EXPECT_EQ(quoted_text("\xC2\x9B\xE2\x80\xAE"), R"("\u009b\u202e")");
}

TEST(QuotedText, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(quoted_text("abcdef", 6), "\"abcdef\"");
  EXPECT_EQ(quoted_text("abcdefg", 6), "\"abcdef...\"");
  EXPECT_EQ(quoted_text("\xC3\xA9\xC3\xA9", 1), "\"\xC3\xA9...\"");
}

TEST(QuotedText, KnowsValidUtf8) {
  EXPECT_EQ(utf8_character_length(""), 0U);
  EXPECT_EQ(utf8_character_length("a"), 1U);
  EXPECT_EQ(utf8_character_length("\xC3\xA9"), 2U);
  EXPECT_EQ(utf8_character_length("\xE2\x82\xAC"), 3U);
  EXPECT_EQ(utf8_character_length("\xF0\x9F\x98\x80"), 4U);
  for (const char* broken : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                             "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3", "\xE2\x82", "\xC3\x28"}) {
    EXPECT_EQ(utf8_character_length(broken), 0U);
  }
}

}  // namespace
}  // namespace semfuse
