#include "wire/raw_json.h"

#include <gtest/gtest.h>

namespace semfuse {
namespace {

TEST(RawJson, GivesValuesAsTheyWereSent) {
  constexpr std::string_view kObject =
      "\xEF\xBB\xBF { \"list\" : [1,{\"named\":2},\"]}\\\"\"], \"na\\u006ded\":{\"z\":1.50, \"a\" : 1E400 } , "
      "\"none\":null,"
      "\"empty\":{},\"text\":\"\",\"number\":-12345678901234567890123}";
  EXPECT_EQ(raw_member(kObject, "list"), "[1,{\"named\":2},\"]}\\\"\"]");
  EXPECT_EQ(raw_member(kObject, "named"), "{\"z\":1.50, \"a\" : 1E400 }");
  EXPECT_EQ(raw_member(raw_member(kObject, "named"), "a"), "1E400");
  EXPECT_EQ(raw_member(kObject, "none"), "null");
  EXPECT_EQ(raw_member(kObject, "empty"), "{}");
  EXPECT_EQ(raw_member(kObject, "text"), "\"\"");
  EXPECT_EQ(raw_member(kObject, "number"), "-12345678901234567890123");
  EXPECT_EQ(raw_member(kObject, "absent"), "");
  EXPECT_EQ(raw_member("{}", "absent"), "");
}

TEST(RawJson, ReadsNotPastTheEndOfWhatIsNone) {
  for (const std::string_view text : {"", "{", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":{{", "{\"a\":\"\\", "}", "[1]"}) {
    EXPECT_LE(raw_member(text, "a").size(), text.size()) << text;
  }
}

}  // namespace
}  // namespace semfuse
