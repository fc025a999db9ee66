#include "features/conllu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "semfuse/error.h"

namespace semfuse {
namespace {

using testing::ElementsAre;

std::string line(std::string_view id, std::string_view word, std::string_view tag) {
  std::string text(id);
  for (const std::string_view column : {word, std::string_view("_"), tag}) text += "\t" + std::string(column);
  return text + "\t_\t_\t_\t_\t_\t_\n";
}

void expect_conllu_refused(const std::string& text, const std::string& what) {
  try {
    parse_conllu(text, "file");
    ADD_FAILURE() << text;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(what));
    EXPECT_THAT(error.what(), testing::StartsWith("file"));
  }
}

TEST(Conllu, ReadsWordsAndTags) {
  const std::string text = "# sent_id = 1\n" + line("1-2", "don't", "_") + line("1", "do", "AUX") +
                           line("2", "n't", "PART") + line("2.1", "go", "VERB") + "\n# another\r\n" +
                           line("1", "\"", "PUNCT");
  const std::vector<TaggedSentence> sentences = parse_conllu(text, "file");
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_THAT(sentences[0].words, ElementsAre("do", "n't"));
  EXPECT_THAT(sentences[0].tags, ElementsAre(*find_universal_tag("AUX"), *find_universal_tag("PART")));
  EXPECT_THAT(sentences[1].words, ElementsAre("\""));
}

TEST(Conllu, RefusesEverythingElseWithItsLine) {
  expect_conllu_refused("", "file: holds no sentence");
  expect_conllu_refused("# only\n\n", "holds no sentence");
  expect_conllu_refused(line("1", "a", "NOUN") + "2\tb\n", "file:2: has 2 columns");
  expect_conllu_refused(line("1", "a", "NOUN") + line("3", "b", "NOUN"),
                        "file:2: the number of the word is \"3\", not 2");
  expect_conllu_refused(line("01", "a", "NOUN"), "not 1");
  expect_conllu_refused(line("1", "a", "noun"), "the part of speech is \"noun\"; it is one of NOUN VERB");
  expect_conllu_refused(line("1", "a", "_"), "the part of speech is \"_\"");
  expect_conllu_refused(line("1", "", "NOUN"), "column 2 is empty");
  expect_conllu_refused(line("1", "\xff", "NOUN"), "is not UTF-8");
  expect_conllu_refused(line("2-3", "ab", "_"), "does not follow word 0");
  expect_conllu_refused(line("1-0", "ab", "_"), "does not follow word 0");
  expect_conllu_refused(line("1", "a", "NOUN") + line("2.1", "b", "_"), "does not follow word 1");
  expect_conllu_refused(line("1", "a", "NOUN") + "# late\n", "file:2: has 1 columns");
}

}  // namespace
}  // namespace semfuse
