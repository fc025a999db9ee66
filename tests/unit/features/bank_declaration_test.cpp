#include "features/bank_declaration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "semfuse/error.h"

namespace semfuse {
namespace {

using testing::ElementsAre;

void expect_refused(const std::string& text, const std::string& what) {
  EXPECT_THAT([&] { BankDeclaration::parse(text, "file"); },
              testing::ThrowsMessage<Error>(testing::AllOf(testing::StartsWith("file"), testing::HasSubstr(what))))
      << text;
}

TEST(BankDeclaration, ReadsTermsAlternativesAndContinuedLines) {
  const BankDeclaration bank = BankDeclaration::parse(
      "# a comment\n\npast: tag VERB AUX & not ending ed\r\n  | after 3 words was no_longer \"|\" \"\"\"\n"
      "dark: around 0.5 width 0.2 of -polarity\nso_far: begun capital\n",
      "file");
  ASSERT_EQ(bank.features.size(), 3U);
  EXPECT_EQ(bank.features[0].name, "past");
  EXPECT_EQ(bank.features[0].line, 3U);
  ASSERT_EQ(bank.features[0].alternatives.size(), 2U);
  ASSERT_EQ(bank.features[0].alternatives[0].size(), 2U);
  EXPECT_THAT(bank.features[0].alternatives[0][0].values, ElementsAre("VERB", "AUX"));
  EXPECT_TRUE(bank.features[0].alternatives[0][1].negated);
  const BankTerm& words = bank.features[0].alternatives[1][0];
  EXPECT_EQ(words.back, 3U);
  EXPECT_THAT(words.values, ElementsAre("was", "no_longer", "|", "\""));
  const BankTerm& degree = bank.features[1].alternatives[0][0];
  EXPECT_EQ(degree.level, BankTerm::Level::around);
  EXPECT_EQ(degree.sign, -1.0);
  EXPECT_EQ(degree.center, 0.5);
  EXPECT_EQ(degree.width, 0.2);
  EXPECT_TRUE(bank.features[2].alternatives[0][0].begun);
}

TEST(BankDeclaration, RefusesEverythingElseWithItsLine) {
  expect_refused("", "file: declares no feature");
  expect_refused("# nothing\n", "declares no feature");
  expect_refused("  tag NOUN\n", "file:1: there is no feature that this goes on with");
  expect_refused("noun tag NOUN\n", "file:1: there is no colon");
  expect_refused("a: tag NOUN\nNoun: tag NOUN\n", "file:2: \"Noun\" is no name");
  expect_refused("a: tag NOUN\na: tag VERB\n", "file:2: a is declared twice (first at line 1)");
  expect_refused("a: tag NUON\n", "did you mean \"NOUN\"?");
  expect_refused("a: tga NOUN\n", "did you mean \"tag\"?");
  expect_refused("a:\n", "ends too early");
  expect_refused("a: tag\n", "ends too early");
  expect_refused("a: tag NOUN |\n", "ends too early");
  expect_refused("a: tag NOUN & | tag VERB\n", "ends too early");
  expect_refused("a: is capitl\n", "did you mean \"capital\"?");
  expect_refused("a: is capital upper\n", "follows a whole term");
  expect_refused("a: begun first\n", "it is not known");
  expect_refused("a: after begun capital\n", "nothing is unfinished");
  expect_refused("a: after 9 words b\n", "from 1 to 8");
  expect_refused("a: low polarity\n", "low of polarity");
  expect_refused("a: low of Polarity\n", "is no name");
  expect_refused("a: around 2 width 1 of polarity\n", "the centre in [0, 1]");
  expect_refused("a: around 0.5 width 0 of polarity\n", "above 0");
  expect_refused("a: words \xff\n", "is not UTF-8");
  EXPECT_THROW(BankDeclaration::load("/nowhere/my.bank"), Error);
}

}  // namespace
}  // namespace semfuse
