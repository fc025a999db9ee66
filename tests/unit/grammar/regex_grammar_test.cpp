#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "semfuse/error.h"
#include "semfuse/grammar.h"

namespace semfuse {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Case {
  std::string regex;
  std::vector<std::string> accepted;
  std::vector<std::string> refused;
};

TEST(RegexGrammar, MatchesWholeTexts) {
  const std::vector<Case> cases = {
      {"[A-Z][a-z]+ \\d{1,3}", {"Anna 7", "Bob 123"}, {"anna 7", "Anna 1234", "Anna "}},
      {"a|bc|", {"a", "bc", ""}, {"b", "abc"}},
      {"^(?:ab)*?$", {"", "ab", "abab"}, {"aba"}},
      {"(?<year>\\d{4})-\\d\\d", {"2024-01"}, {"2024-1"}},
      {"[^a-c\\d]", {"d", "ä", "\n"}, {"a", "5", ""}},
      {"[a\\-z]", {"a", "-", "z"}, {"b"}},
      {"[a-]", {"a", "-"}, {"b"}},
      {"\\w\\s\\W\\S\\D", {"a !xx", "_\t!ax"}, {"a  ", "!a"}},
      {".", {"x", "é", "😀"}, {"\n", "", "xx"}},
      {"\\u0041\\x42\\u{43}\\uD83D\\uDE00", {"ABC😀"}, {"ABC"}},
      {"a{2}b{2,}c{0,1}", {"aabb", "aabbbbc"}, {"aab", "abb", "aabbcc"}},
      {"{a}", {"{a}"}, {"a"}},
      {"\\.\\*\\/\\\\", {".*/\\"}, {"...."}},
      {"[\\x22=|]+ \\|", {"\"=| |"}, {"x |"}},
      {"(^a|b)c$", {"ac", "bc"}, {"c", "abc"}},
      {"x*(a$|b)y*", {"a", "xb", "xxbyy"}, {"ay"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.regex);
    const Grammar grammar = Grammar::from_regex(c.regex);
    for (const std::string& text : c.accepted) EXPECT_TRUE(grammar.match(text).accepted) << text;
    for (const std::string& text : c.refused) EXPECT_FALSE(grammar.match(text).accepted) << text;
    // What it prints says the same.
    const Grammar again = Grammar::parse(grammar.gbnf(), "again");
    for (const std::string& text : c.accepted) EXPECT_TRUE(again.match(text).accepted) << text;
    for (const std::string& text : c.refused) EXPECT_FALSE(again.match(text).accepted) << text;
  }
}

// A terminal obeys such characters, or shows what is around them in another order.
TEST(RegexGrammar, WritesNothingThatATerminalObeys) {
  const std::string text =
      "a\u009b\u202e\u0080\u2066"
      "1é";
  for (const Grammar& grammar :
       {Grammar::from_regex(text), Grammar::from_json_schema(R"({"const": ")" + text + "\"}", "schema")}) {
    const std::string gbnf = grammar.gbnf();
    for (const char* unsafe : {"\u009b", "\u202e", "\u0080", "\u2066"}) EXPECT_EQ(gbnf.find(unsafe), gbnf.npos) << gbnf;
    EXPECT_THAT(gbnf, HasSubstr("\\u009B"));
    EXPECT_THAT(gbnf, HasSubstr("1é"));
    const Grammar again = Grammar::parse(gbnf, "again");
    EXPECT_EQ(again.match(text).accepted, grammar.match(text).accepted);
    EXPECT_TRUE(again.match(text).accepted || again.match('"' + text + '"').accepted);
  }
}

std::string regex_error_of(const std::string& regex) {
  try {
    Grammar::from_regex(regex);
    return "accepted";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(RegexGrammar, RefusesWhatIsNotRegular) {
  EXPECT_THAT(regex_error_of("(a)\\1"), StartsWith("regex:1:4: references back"));
  EXPECT_THAT(regex_error_of("a(?=b)"), StartsWith("regex:1:2: look-around"));
  EXPECT_THAT(regex_error_of("(?<!b)"), HasSubstr("look-around"));
  EXPECT_THAT(regex_error_of("\\bword"), HasSubstr("word boundaries"));
  EXPECT_THAT(regex_error_of("\\p{L}"), HasSubstr("properties of characters"));
  EXPECT_THAT(regex_error_of("(a"), StartsWith("regex:1:1: this group is not closed"));
  EXPECT_THAT(regex_error_of("a)"), StartsWith("regex:1:2: this \")\" closes no group"));
  EXPECT_THAT(regex_error_of("[z-a]"), HasSubstr("runs backwards"));
  EXPECT_THAT(regex_error_of("a{3,2}"), HasSubstr("runs backwards"));
  EXPECT_THAT(regex_error_of("a**"), HasSubstr("nothing to repeat"));
  EXPECT_THAT(regex_error_of("+"), HasSubstr("nothing does"));
  EXPECT_THAT(regex_error_of("a\\"), HasSubstr("backslash"));
  EXPECT_THAT(regex_error_of("\xff"), HasSubstr("UTF-8"));
  EXPECT_THAT(regex_error_of("a{1,1000000000}"), HasSubstr("above 65536"));
  EXPECT_THAT(regex_error_of(std::string(300, '(') + std::string(300, ')')), HasSubstr("nested deeper than 100"));
  for (const char* never : {"[^\\s\\S]", "[]", "a^b", "(a$)b"})
    EXPECT_THAT(regex_error_of(never), HasSubstr("1:1: no text matches this expression")) << never;
}

TEST(RegexGrammar, BlowUpsAreBounded) {
  EXPECT_TRUE(Grammar::from_regex("(a|a)*(a|a)*b").match("aaab").accepted);
  EXPECT_TRUE(Grammar::from_regex("(((a*)*)*)*").match("aaa").accepted);
  EXPECT_TRUE(Grammar::from_regex("[ab]*a[ab]{200}").match("a" + std::string(200, 'b')).accepted);
  EXPECT_EQ(Grammar::from_regex("((a{1000}){1000}){1000}").match(std::string(3000, 'a') + "b").offset, 3000u);
  EXPECT_THAT(regex_error_of("(((a?){1000}){1000}){1000}"), HasSubstr("states"));
}

}  // namespace
}  // namespace semfuse
