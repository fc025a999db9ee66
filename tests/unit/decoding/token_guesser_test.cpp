#include "decoding/token_guesser.h"

#include <gtest/gtest.h>

namespace semfuse {
namespace {

TEST(TokenGuesser, GuessesWhatAlwaysFollows) {
  TokenGuesser guesser(10);
  EXPECT_EQ(guesser.guess(3), std::nullopt);
  for (int i = 0; i < 5; ++i) guesser.learn(3, 7);
  EXPECT_EQ(guesser.guess(3), 7);
  EXPECT_EQ(guesser.guess(4), std::nullopt);
}

TEST(TokenGuesser, GivesUpWhatNoLongerFollows) {
  TokenGuesser guesser(10);
  for (int i = 0; i < 100; ++i) guesser.learn(3, 7);
  guesser.learn(3, 8);  // Once is no reason.
  EXPECT_EQ(guesser.guess(3), 7);
  for (int i = 0; i < 10; ++i) guesser.learn(3, 8);
  EXPECT_EQ(guesser.guess(3), 8);
}

TEST(TokenGuesser, DoesNotGuessWhatChanges) {
  TokenGuesser guesser(10);
  for (TokenId i = 0; i < 100; ++i) {
    guesser.learn(3, i % 5);
    EXPECT_EQ(guesser.guess(3), std::nullopt);
  }
}

}  // namespace
}  // namespace semfuse
