#include "wire/stop_text.h"

#include <gtest/gtest.h>

namespace semfuse {
namespace {

TEST(StopText, EndsBeforeAStopText) {
  StopText text({"end", "xy"});
  EXPECT_TRUE(text.append("a e"));
  EXPECT_TRUE(text.append("n"));
  EXPECT_EQ(text.take(), "a ");  // "en" may become "end".
  EXPECT_FALSE(text.append("d more"));
  EXPECT_EQ(text.text(), "a ");
  EXPECT_EQ(text.take(), "");
  EXPECT_FALSE(text.append("b"));
  EXPECT_EQ(text.text(), "a ");
}

TEST(StopText, GivesBackWhatTurnedOutToBeNone) {
  StopText text({"stop"});
  text.append("st");
  EXPECT_EQ(text.take(), "");
  text.append("art sto");
  EXPECT_EQ(text.take(), "start ");
  text.finish();
  EXPECT_EQ(text.take(), "sto");
  EXPECT_EQ(text.text(), "start sto");
}

TEST(StopText, TheFirstOfSeveralCounts) {
  StopText text({"b", "a"});
  EXPECT_FALSE(text.append("xab"));
  EXPECT_EQ(text.text(), "x");
}

TEST(StopText, CutsNoCharacter) {
  StopText text({});
  text.append("\xE2\x82");
  EXPECT_EQ(text.take(), "");
  text.append("\xAC!");
  EXPECT_EQ(text.take(), "\xE2\x82\xAC!");
  text.append("\xC3");
  EXPECT_EQ(text.take(), "");
  text.finish();
  EXPECT_EQ(text.take(), "\xC3");
}

}  // namespace
}  // namespace semfuse
