#include "semfuse/grammar.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "semfuse/class_words.h"
#include "semfuse/corpus.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Grammar parsed(std::string_view gbnf) {
  return Grammar::parse(gbnf, "g", words_of(synthetic_lexicon()));
}

bool accepts(std::string_view gbnf, std::string_view text) {
  return parsed(gbnf).match(text).accepted;
}

std::string error_of(std::string_view gbnf) {
  try {
    parsed(gbnf);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Grammar, ReadsLiteralsAndEscapes) {
  EXPECT_TRUE(accepts(R"(root ::= "a\n\r\t\\\"\x41\u00e9\U0001F600")", "a\n\r\t\\\"A\u00e9\U0001F600"));
  EXPECT_TRUE(accepts("root ::= \"é\"", "é"));
  EXPECT_TRUE(accepts(R"(root ::= "")", ""));
  EXPECT_FALSE(accepts(R"(root ::= "ab")", "a"));
  EXPECT_FALSE(accepts(R"(root ::= "ab")", "abc"));
}

TEST(Grammar, ReadsCharacterClasses) {
  EXPECT_TRUE(accepts("root ::= [a-c]", "b"));
  EXPECT_FALSE(accepts("root ::= [a-c]", "d"));
  EXPECT_TRUE(accepts("root ::= [^a-c]", "d"));
  EXPECT_FALSE(accepts("root ::= [^a-c]", "b"));
  EXPECT_TRUE(accepts("root ::= [^a-c]", "é"));
  EXPECT_FALSE(accepts("root ::= [^a-c]", "\xC3"));
  EXPECT_FALSE(accepts("root ::= [^a-c]", "\xC0\x80"));
  EXPECT_TRUE(accepts("root ::= [a-]", "-"));
  EXPECT_TRUE(accepts("root ::= [-a]", "-"));
  EXPECT_TRUE(accepts(R"(root ::= [\]\[\-\^"])", "]"));
  EXPECT_TRUE(accepts("root ::= [à-ü]", "é"));
  EXPECT_TRUE(accepts("root ::= .", "\n"));
  EXPECT_TRUE(accepts("root ::= .", "\U0001F600"));
  EXPECT_FALSE(accepts("root ::= .", "ab"));
}

std::string utf8(char32_t c) {
  std::string text;
  const auto add = [&text](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xC0 + c / 64), add(0x80 + c % 64);
  } else if (c < 0x10000) {
    add(0xE0 + c / 4096), add(0x80 + c / 64 % 64), add(0x80 + c % 64);
  } else {
    add(0xF0 + c / 262144), add(0x80 + c / 4096 % 64), add(0x80 + c / 64 % 64), add(0x80 + c % 64);
  }
  return text;
}

TEST(Grammar, ClassesAreExactlyTheirCharacters) {
  const Grammar grammar =
      parsed(R"(root ::= [\u0020-\u0100\u07F0-\u0810\uD7F0-\uE010\uFFF0-\U00010010\U0010FFF0-\U0010FFFF])");
  const auto inside = [](char32_t c) {
    return (c >= 0x20 && c <= 0x100) || (c >= 0x7F0 && c <= 0x810) || (c >= 0xD7F0 && c <= 0xE010) ||
           (c >= 0xFFF0 && c <= 0x10010) || c >= 0x10FFF0;
  };
  for (char32_t c = 0; c <= 0x10FFFF; c += c < 0x900 || (c > 0xD700 && c < 0x10100) || c > 0x10FF00 ? 3 : 197) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    ASSERT_EQ(grammar.match(utf8(c)).accepted, inside(c)) << static_cast<std::uint32_t>(c);
  }
}

TEST(Grammar, Repeats) {
  EXPECT_TRUE(accepts(R"(root ::= "ab"*)", "ababab"));
  EXPECT_FALSE(accepts(R"(root ::= "ab"*)", "abb"));
  EXPECT_FALSE(accepts(R"(root ::= "a"+)", ""));
  EXPECT_TRUE(accepts(R"(root ::= "a"? "b")", "b"));
  for (int n = 0; n < 8; ++n) {
    const std::string text(static_cast<std::size_t>(n), 'a');
    EXPECT_EQ(accepts(R"(root ::= "a"{3})", text), n == 3);
    EXPECT_EQ(accepts(R"(root ::= "a"{ 3 , })", text), n >= 3);
    EXPECT_EQ(accepts(R"(root ::= "a"{2,5})", text), n >= 2 && n <= 5);
    EXPECT_EQ(accepts(R"(root ::= "a"{0,2})", text), n <= 2);
    EXPECT_EQ(accepts(R"(root ::= "a"{0})", text), n == 0);
    EXPECT_EQ(accepts(R"(root ::= ("a"?){0,3}{2})", text), n <= 6);
    EXPECT_TRUE(accepts(R"(root ::= ("a"*)*)", text));
    EXPECT_TRUE(accepts(R"(root ::= (("a"?)+)*)", text));
  }
}

// Large counts are counted, not written out: alone, nested, behind each other, around recursion and choices.
TEST(Grammar, CountsHoldToTheLast) {
  const auto texts = [](std::string_view text, std::size_t n) {
    std::string all;
    for (std::size_t i = 0; i < n; ++i) all += text;
    return all;
  };
  const Grammar string = parsed("root ::= \"<\" char{2,900} \">\"\nchar ::= [^<>\\\\] | \"\\\\\" [n<>]");
  for (const std::size_t n : {0u, 1u, 2u, 3u, 450u, 899u, 900u, 901u, 2000u}) {
    const bool good = n >= 2 && n <= 900;
    for (const char* character : {"x", "é", "日", "\\n"}) {
      EXPECT_EQ(string.match("<" + texts(character, n) + ">").accepted, good) << character << " " << n;
    }
    EXPECT_EQ(accepts("root ::= \"ab\"{900,} \"a\"", texts("ab", n) + "a"), n >= 900) << n;
    EXPECT_EQ(accepts("root ::= [a-c]{450} [b-d]{450}", texts("b", n)), n == 900) << n;
    EXPECT_EQ(accepts("root ::= (\"a\" | \"aa\"){450,1000} \"b\"", texts("a", n) + "b"), n >= 450) << n;
    EXPECT_EQ(accepts("root ::= none{0,900} [x]{450,900}\nnone ::= \"a\" none", texts("x", n)), n >= 450 && n <= 900);
    EXPECT_EQ(accepts("root ::= (\"(\" pair* \")\"){450,900}\npair ::= \"(\" pair* \")\"", texts("(())", n)),
              n >= 450 && n <= 900);
  }
  const Grammar rows = parsed("root ::= (\"[\" [0-9]{3,400} \"]\"){2,300}");
  EXPECT_TRUE(rows.match(texts("[" + texts("7", 400) + "]", 300)).accepted);
  EXPECT_EQ(rows.match(texts("[" + texts("7", 400) + "]", 301)).offset, 300u * 402);
  EXPECT_FALSE(rows.match("[123]").accepted);
  EXPECT_EQ(rows.match("[123][" + texts("7", 401)).offset, 406u);
  EXPECT_TRUE(parsed("root ::= [^x]{0,65536} \"x\"").match(texts("é", 65536) + "x").accepted);
  EXPECT_EQ(parsed("root ::= ((\"a\"{1000}){1000}){1000}").match(texts("a", 5000) + "b").offset, 5000u);
}

TEST(Grammar, RulesGoOverLines) {
  const char* gbnf =
      "# A comment\r\nroot ::= # here\n  a |\n  # and here\n  b-2\n  | c_3 (\n \"x\" |\n \"y\"\n)\n\na ::= "
      "\"1\"\nb-2::=\"2\"\nc_3 ::= \"3\"";
  for (const char* text : {"1", "2", "3x", "3y"}) EXPECT_TRUE(accepts(gbnf, text)) << text;
  EXPECT_FALSE(accepts(gbnf, "3"));
  EXPECT_TRUE(accepts("root ::= | \"a\"", ""));
  EXPECT_TRUE(accepts("\xEF\xBB\xBFroot ::= \"a\"", "a"));
}

TEST(Grammar, EveryKindOfRecursionWorks) {
  const char* const right = "root ::= \"a\" root | \"\"";
  const char* const left = "root ::= root \"a\" | \"\"";
  const char* const hidden = "root ::= n root \"a\" | \"\"\nn ::= \"\" | \"b\"";
  const char* const indirect = "root ::= x \"a\" | \"\"\nx ::= y\ny ::= root";
  const std::string many(300, 'a');
  for (const char* gbnf : {right, left, hidden, indirect}) {
    EXPECT_TRUE(accepts(gbnf, "")) << gbnf;
    EXPECT_TRUE(accepts(gbnf, many)) << gbnf;
    EXPECT_FALSE(accepts(gbnf, many + "b")) << gbnf;
  }
  EXPECT_TRUE(accepts(hidden, "bbaaa"));
  EXPECT_FALSE(accepts(hidden, "bbbaa"));
  const char* const centre = "root ::= \"(\" root \")\" root | \"\"";
  EXPECT_TRUE(accepts(centre, "(()())()"));
  EXPECT_FALSE(accepts(centre, "(()"));
  EXPECT_FALSE(accepts(centre, "())"));
  const char* const ambiguous = "root ::= root root | \"a\" | \"\"";
  EXPECT_TRUE(accepts(ambiguous, std::string(40, 'a')));
  const char* const sum =
      "root ::= root \"+\" product | product\nproduct ::= product \"*\" atom | atom\natom ::= \"x\" | \"(\" root \")\"";
  EXPECT_TRUE(accepts(sum, "x+x*(x+x)*x"));
  EXPECT_FALSE(accepts(sum, "x+*x"));
  EXPECT_TRUE(accepts("root ::= root | \"a\"", "a"));
}

TEST(Grammar, DeepNestingIsNoProblem) {
  const Grammar grammar = parsed("root ::= \"(\" root \")\" | \"x\"");
  const std::size_t depth = 20000;
  EXPECT_TRUE(grammar.match(std::string(depth, '(') + "x" + std::string(depth, ')')).accepted);
  EXPECT_FALSE(grammar.match(std::string(depth, '(') + "x" + std::string(depth - 1, ')')).accepted);
}

TEST(Grammar, WordClassesAreTheLexicons) {
  EXPECT_TRUE(accepts("root ::= @adjective", "wonderful"));
  EXPECT_FALSE(accepts("root ::= @adjective", "very"));
  const Lexicon lexicon(std::vector<LexiconEntry>{{.word = "shiny", .word_class = WordClass::kAdjective}});
  EXPECT_TRUE(Grammar::parse("root ::= @adjective \"!\"", "g", words_of(lexicon)).match("shiny!").accepted);
  EXPECT_TRUE(Grammar::parse("root ::= @verb | \"x\"", "g", words_of(lexicon)).match("x").accepted);
  const Lexicon days({{.word = "Monday", .word_class = "weekday"}, {.word = "soon", .word_class = "adverb"}});
  const Grammar grammar = Grammar::parse("root ::= @adverb \" \" @weekday", "g", words_of(days));
  EXPECT_TRUE(grammar.match("soon Monday").accepted);
  EXPECT_FALSE(grammar.match("Monday soon").accepted);
  EXPECT_THAT(error_of("root ::= @weekday"), HasSubstr("there is no word class \"weekday\"; choose one of subject, "));
}

TEST(Grammar, WordClassesAreWhatAFunctionSays) {
  const WordsOfClass trees = [](std::string_view name) -> std::vector<std::string> {
    if (name == "tree") return {"oak", "ash"};
    throw Error("no class " + std::string(name));
  };
  const Grammar grammar = Grammar::parse("root ::= \"an \" @tree (\" or \" @tree)?", "g", trees);
  EXPECT_TRUE(grammar.match("an ash or oak").accepted);
  EXPECT_FALSE(grammar.match("an elm").accepted);
  const auto failure = [](const WordsOfClass& classes) -> std::string {
    try {
      Grammar::parse("root ::= @shrub", "g", classes);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(failure(trees), "g:1:10: no class shrub");
  EXPECT_THAT(failure({}), StartsWith("g:1:10: there is no word class \"shrub\""));
}

TEST(Grammar, ErrorsSayWhere) {
  EXPECT_THAT(error_of("root ::= sentense\nsentence ::= \"a\""),
              AllOf(StartsWith("g:1:10: there is no rule \"sentense\""), HasSubstr("did you mean \"sentence\"?")));
  EXPECT_THAT(error_of("root ::= \"a\"\n\nroot ::= \"b\""),
              StartsWith("g:3:1: rule \"root\" is defined twice (first at line 1)"));
  EXPECT_THAT(error_of("start ::= \"a\""), StartsWith("g:1:14: there is no rule \"root\""));
  EXPECT_THAT(error_of(""), StartsWith("g:1:1: there is no rule \"root\""));
  EXPECT_THAT(error_of("root ::= (\"a\""), StartsWith("g:1:10: this group is not closed"));
  EXPECT_THAT(error_of("root ::= \"a\")"), StartsWith("g:1:13: this \")\" closes no group"));
  EXPECT_THAT(error_of("root ::= \"é\" \"a"), StartsWith("g:1:14: this literal is not closed"));
  EXPECT_THAT(error_of("root ::= \"a\nb\""), StartsWith("g:1:10: this literal is not closed"));
  EXPECT_THAT(error_of("root ::= [a-z"), StartsWith("g:1:10: this character class is not closed"));
  EXPECT_THAT(error_of("root ::= [a-"), StartsWith("g:1:10: this character class is not closed"));
  EXPECT_THAT(error_of("root ::= []"), StartsWith("g:1:10: this character class is empty"));
  EXPECT_THAT(error_of("root ::= [xz-a]"), StartsWith("g:1:12: the range \"z-a\" runs backwards"));
  EXPECT_THAT(error_of("root ::= \"a\\q\""), StartsWith("g:1:12: unknown escape"));
  EXPECT_THAT(error_of("root ::= \"a\\"), StartsWith("g:1:12: unknown escape"));
  EXPECT_THAT(error_of("root ::= \"\\x4\""), StartsWith("g:1:11: this escape needs 2"));
  EXPECT_THAT(error_of("root ::= \"\\uD800\""), StartsWith("g:1:11: this escape is no Unicode character"));
  EXPECT_THAT(error_of("root ::= \"\\U00110000\""), StartsWith("g:1:11: this escape is no Unicode character"));
  EXPECT_THAT(error_of("root ::= \"a\"{5,3}"), StartsWith("g:1:13: the repetition {5,3} runs backwards"));
  EXPECT_THAT(error_of("root ::= \"a\"{1,100000}"), StartsWith("g:1:16: the count \"100000\" is above 65536"));
  EXPECT_THAT(error_of("root ::= \"a\"{99999999999999999999}"), StartsWith("g:1:14: the count"));
  EXPECT_THAT(error_of("root ::= \"a\"{,3}"), StartsWith("g:1:14: expected a count, found \",\""));
  EXPECT_THAT(error_of("root ::= \"a\"{3"),
              StartsWith("g:1:15: expected \"}\" after the count, found the end of the grammar"));
  EXPECT_THAT(error_of("root ::= * \"a\""), StartsWith("g:1:10: \"*\" repeats what stands before it"));
  EXPECT_THAT(error_of("root ::= \"a\" ; \"b\""), StartsWith("g:1:14: did not expect \";\""));
  EXPECT_THAT(error_of("root \"a\""), StartsWith("g:1:6: expected ::= after the name \"root\""));
  EXPECT_THAT(error_of("!"), StartsWith("g:1:1: expected the name of a rule"));
  EXPECT_THAT(error_of("root ::= @adjectives"), AllOf(StartsWith("g:1:10: there is no word class \"adjectives\""),
                                                      HasSubstr("did you mean \"adjective\"?")));
  EXPECT_THAT(error_of("root ::= \"a\"\n# \xFF"), StartsWith("g:2:3: this is not valid UTF-8"));
}

TEST(Grammar, RefusesAGrammarWithoutSentences) {
  EXPECT_THAT(error_of("root ::= \"a\" root"), StartsWith("g:1:1: rule \"root\" describes no sentence"));
  EXPECT_THAT(error_of("root ::= root"), HasSubstr("describes no sentence"));
  EXPECT_THAT(error_of("x ::= \"a\"\nroot ::= y\ny ::= x y"), StartsWith("g:2:1: rule \"root\" describes no sentence"));
  // A way that never ends is left out, the others stay.
  const Grammar grammar = parsed("root ::= \"a\" endless | \"b\"\nendless ::= \"c\" endless");
  EXPECT_TRUE(grammar.match("b").accepted);
  EXPECT_EQ(grammar.match("a").offset, 0u);
}

TEST(Grammar, HasLimits) {
  EXPECT_THAT(error_of(std::string((1 << 20) + 1, ' ')), StartsWith("g:1:1: the grammar has 1048577 bytes"));
  EXPECT_THAT(error_of("root ::= " + std::string(100000, '(')), HasSubstr("nested deeper than 200"));
  EXPECT_THAT(error_of("root ::= \"a\"" + std::string(100000, '*')), HasSubstr("nested deeper than 200"));
  EXPECT_THAT(error_of(fmt::format("root ::= \"{}\"{{65536}}", std::string(1000, 'a'))),
              StartsWith("g:1:1012: with its repetitions written out"));
  EXPECT_THAT(error_of("root ::= (((\"a\"?){1000}){1000}){1000}"), HasSubstr("with its repetitions written out"));
  EXPECT_EQ(error_of("root ::= " + std::string(1000000, '"')), "accepted");
}

TEST(Grammar, ReadsManyWordsLongLiteralsAndLargeClasses) {
  std::string words = "root ::= \"w\"";
  for (int i = 0; i < 60000; ++i) words += fmt::format("|\"{:x}\"", 7 * i);
  const Grammar choice = parsed(words);
  EXPECT_TRUE(choice.match(fmt::format("{:x}", 7 * 59999)).accepted);
  EXPECT_FALSE(choice.match(fmt::format("{:x}", 7 * 59999 + 1)).accepted);
  const std::string letters(1'000'000, 'a');
  EXPECT_TRUE(accepts("root ::= \"" + letters + "\"", letters));
  std::string ranges = "root ::= [";
  for (char32_t n = 0; n < 50'000; ++n) {
    const char32_t c = (n < 18'000 ? 0x100 : 0x2000) + 3 * n;  // Not where surrogates are.
    ranges += utf8(c) + "-" + utf8(c + 1);
  }
  const Grammar classes = parsed(ranges + "]");
  EXPECT_TRUE(classes.match(utf8(0x101 + 3 * 5000)).accepted);
  EXPECT_FALSE(classes.match(utf8(0x102 + 3 * 5000)).accepted);
}

TEST(Grammar, RulesThatDoubleStaySmall) {
  std::string gbnf = "root ::= r0\n";
  for (int i = 0; i < 60; ++i) {
    gbnf += fmt::format("r{0} ::= r{1} r{1}\n", i, i + 1);
  }
  const Grammar grammar = parsed(gbnf + "r60 ::= \"a\" | \"\"\n");
  EXPECT_TRUE(grammar.match(std::string(100, 'a')).accepted);
  EXPECT_FALSE(grammar.match("ab").accepted);
}

TEST(Grammar, LongChainsOfRulesAreNoProblem) {
  std::string gbnf = "root ::= r0\n";
  for (int i = 0; i < 20000; ++i) gbnf += fmt::format("r{} ::= \"a\" | r{}\n", i, i + 1);
  EXPECT_TRUE(accepts(gbnf + "r20000 ::= \"b\"\n", "b"));
  EXPECT_FALSE(accepts(gbnf + "r20000 ::= \"b\"\n", "c"));
}

TEST(Grammar, SubsetsThatExplodeStayAsTheyAre) {
  const Grammar grammar = parsed("root ::= (\"a\" | \"b\")* \"a\" (\"a\" | \"b\"){30}");
  EXPECT_TRUE(grammar.match(std::string(20, 'b') + "a" + std::string(30, 'b')).accepted);
  EXPECT_FALSE(grammar.match(std::string(20, 'a') + "b" + std::string(30, 'b')).accepted);
}

TEST(Grammar, SaysWhereATextLeavesTheLanguage) {
  const Grammar grammar = parsed("root ::= @subject \" \" (\"reviews\" | \"trains\") \" the paper\" [0-9]* \".\"");
  const auto expected = [&grammar](std::string_view text) { return grammar.match(text).expected; };
  EXPECT_EQ(grammar.match("Alice cooks").offset, 6u);
  EXPECT_THAT(expected("Alice cooks"), ElementsAre("\"reviews\"", "\"trains\""));
  EXPECT_EQ(grammar.match("Alice reviews teh").offset, 15u);
  EXPECT_THAT(expected("Alice reviews teh"), ElementsAre("\"the\""));
  EXPECT_THAT(expected("Alice"), ElementsAre("\" reviews\"", "\" trains\""));
  EXPECT_THAT(expected("Alice reviews the paper"), ElementsAre("[0-9]", "\".\""));
  EXPECT_THAT(expected("Alice reviews the paper.."), ElementsAre("end of text"));
  EXPECT_THAT(expected(""), ElementsAre("\"Alice\"", "\"Bob\"", "\"Carol\"", "\"Dave\"", "\"Eve\""));
  EXPECT_THAT(parsed("root ::= [a-z] | [A-Z] | .{3}").match("").expected, Contains(StartsWith("[")));
}

TEST(Grammar, CharactersBeyondAsciiStayWhole) {
  const auto match = [](std::string_view gbnf, std::string_view text) { return parsed(std::string(gbnf)).match(text); };
  const Grammar::Match inside = match("root ::= \"caf\" [à-ö] \".\"", "cafÿ.");
  EXPECT_EQ(inside.offset, 3u);
  EXPECT_THAT(inside.expected, ElementsAre("[à-ö]"));
  EXPECT_THAT(match("root ::= [ぁ-ん]+ | [α-ω] | [0-9]", "").expected, ElementsAre("[0-9α-ωぁ-ん]"));
  EXPECT_THAT(match("root ::= \"é\" | \"à\" | \"日本\"", "ê").expected, ElementsAre("\"à\"", "\"é\"", "\"日本\""));
  EXPECT_THAT(match("root ::= \"x\" [é-\\U0010FFFF]", "x").expected, ElementsAre("[é-\\uD7FF\\uE000-\\U0010FFFF]"));
  EXPECT_EQ(match("root ::= .*", "a\xC3").offset, 1u);
  EXPECT_FALSE(match("root ::= .*", "a\xC3").accepted);
}

TEST(Grammar, AmbiguityIsBounded) {
  const Grammar grammar = parsed("root ::= root root | root root root | \"a\"");
  EXPECT_TRUE(grammar.match(std::string(60, 'a')).accepted);
  try {
    grammar.match(std::string(100'000, 'a'));
    FAIL() << "it should be refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("less ambiguous"));
  }
}

TEST(Grammar, LoadNamesTheFile) {
  EXPECT_THROW(Grammar::load("/nonexistent/grammar.gbnf", words_of(synthetic_lexicon())), Error);
}

const std::string kGrammars = std::string(SEMFUSE_SOURCE_DIR) + "/grammars/";

TEST(ShippedGrammars, ReadTheWholeCorpus) {
  const Grammar one = Grammar::load(kGrammars + "one-clause.gbnf", words_of(synthetic_lexicon()));
  const Grammar two = Grammar::load(kGrammars + "two-clause.gbnf", words_of(synthetic_lexicon()));
  const Corpus corpus = make_synthetic_corpus({.train = 3000, .val = 0});
  for (const Sentence& sentence : corpus.train) {
    const std::string text = join_words(sentence);
    EXPECT_TRUE(two.match(text).accepted) << text;
    EXPECT_EQ(one.match(text).accepted, sentence.size() == 8) << text;
  }
}

TEST(ShippedGrammars, PronounsAgree) {
  const Grammar two = Grammar::load(kGrammars + "two-clause.gbnf", words_of(synthetic_lexicon()));
  const std::string head = " reviews the paper, very good and ";
  const std::string rest = " trains the model, slightly bad.";
  for (const char* name : {"Alice", "Carol", "Eve"}) {
    EXPECT_TRUE(two.match(name + head + "she" + rest).accepted);
    EXPECT_THAT(two.match(name + head + "he" + rest).expected, ElementsAre("\"she\""));
  }
  for (const char* name : {"Bob", "Dave"}) {
    EXPECT_TRUE(two.match(name + head + "he" + rest).accepted);
    EXPECT_FALSE(two.match(name + head + "she" + rest).accepted);
    EXPECT_FALSE(two.match(name + head + "they" + rest).accepted);
  }
}

TEST(ShippedGrammars, Json) {
  const Grammar json = Grammar::load(kGrammars + "json.gbnf", words_of(synthetic_lexicon()));
  for (const char* text : {R"({"a": [1, -2.5e+3, true, null], "b\n\u00e9": {"c": ""}})", "[]", "{}", " 0 ", R"("é")"}) {
    EXPECT_TRUE(json.match(text).accepted) << text;
  }
  for (const char* text : {"{", "[1,]", "01", "{\"a\" 1}", "\"\n\"", "tru", "", "[1}"})
    EXPECT_FALSE(json.match(text).accepted) << text;
}

}  // namespace
}  // namespace semfuse
