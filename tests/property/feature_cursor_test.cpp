// The rows of natural text: a token at a time as at once, and none of them looks ahead.
#include <gtest/gtest.h>

#include <random>

#include "features/natural_bank.h"

namespace semfuse {
namespace {

// Pieces whose neighbours change what they are.
const std::vector<std::string> kPieces = {
    "I",   " do",     "n't",   " like", " the", " old", "er",       " house", ".",   "..",    "!",
    " ",   "'s",      "’",     "re",    " 3",   ".5",   ",",        " Mr",    "U",   ".S",    "\n",
    " no", " longer", " very", " good", "ness", "\xe2", "\x80\x99", "\xff",   " it", " that", " is",
    "?",   " NASA",   "-",     " will", " not", " bad", "ly",       " walked"};

struct RandomText {
  std::vector<std::string> pieces;
  std::vector<bool> ends_word;

  TokenText token(std::size_t i) const { return {pieces[i], ends_word[i]}; }
  std::vector<TokenText> tokens(std::size_t count) const {
    std::vector<TokenText> list;
    for (std::size_t i = 0; i < count; ++i) list.push_back(token(i));
    return list;
  }
};

RandomText random_text(std::mt19937& random, bool whole_words) {
  RandomText text;
  for (std::size_t i = 1 + random() % 24; i > 0; --i) {
    text.pieces.push_back(kPieces[random() % kPieces.size()]);
    text.ends_word.push_back(whole_words && random() % 2 == 0);
  }
  return text;
}

std::vector<float> row_after(const NaturalBank& bank, const RandomText& text, std::size_t count) {
  const FeatureMatrix matrix = bank.rows(text.tokens(count));
  return {matrix.row(count), matrix.row(count) + matrix.num_features};
}

TEST(FeatureCursor, EqualsReadingThePrefixAnew) {
  const NaturalBank bank = NaturalBank::english();
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const RandomText text = random_text(random, trial % 2 == 0);
    FeatureCursor cursor(bank);
    for (std::size_t i = 0; i < text.pieces.size(); ++i) {
      const std::span<const float> row = cursor.append(text.token(i));
      EXPECT_EQ(std::vector<float>(row.begin(), row.end()), row_after(bank, text, i + 1));
      // A copy goes on by itself.
      FeatureCursor copy = cursor;
      copy.append({" something else.", true});
    }
  }
}

// Without words that end where the token does, a row is a function of the bytes before it, however they were cut.
TEST(FeatureCursor, CutsDoNotMatter) {
  const NaturalBank bank = NaturalBank::english();
  std::mt19937 random(2);
  for (int trial = 0; trial < 200; ++trial) {
    const RandomText text = random_text(random, false);
    std::string all;
    for (const std::string& piece : text.pieces) all += piece;
    FeatureCursor at_once(bank), by_byte(bank);
    at_once.append({all});
    for (const char& c : all) by_byte.append({std::string_view(&c, 1)});
    const std::vector<float> expected = row_after(bank, text, text.pieces.size());
    EXPECT_EQ(std::vector<float>(at_once.row().begin(), at_once.row().end()), expected) << all;
    EXPECT_EQ(std::vector<float>(by_byte.row().begin(), by_byte.row().end()), expected) << all;
  }
}

TEST(FeatureCursor, NoRowLooksAhead) {
  const NaturalBank bank = NaturalBank::english();
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const RandomText text = random_text(random, trial % 2 == 0);
    RandomText other = text;
    const std::size_t from = random() % text.pieces.size();
    for (std::size_t i = from; i < text.pieces.size(); ++i) other.pieces[i] = kPieces[random() % kPieces.size()];
    const FeatureMatrix a = bank.rows(text.tokens(text.pieces.size()));
    const FeatureMatrix b = bank.rows(other.tokens(other.pieces.size()));
    for (std::size_t i = 0; i < (from + 1) * a.num_features; ++i) ASSERT_EQ(a.values[i], b.values[i]);
  }
}

}  // namespace
}  // namespace semfuse
