#include "io/base64.h"

#include <gtest/gtest.h>

#include <random>

namespace semfuse {
namespace {

TEST(Base64, IsThatOfTheStandard) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64(std::string("\xff\xfe\x00", 3)), "//4A");
}

TEST(Base64, ReadsWhatWasWritten) {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 100; ++size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(random());
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  }
}

TEST(Base64, RefusesEverythingElse) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "====", "Z===", "Zg==Zg==", "Zm9v\n", "Zm 9v", "Zm9-",
                           "Zh==", "Zm9=", "=m9v", "Z=9v"}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace semfuse
