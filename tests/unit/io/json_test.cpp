#include "io/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "semfuse/error.h"

namespace semfuse {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string json_refusal(std::string_view text, std::size_t max_depth = 64) {
  try {
    parse_json(text, "a.json", max_depth);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Json, ParsesOneValue) {
  EXPECT_EQ(parse_json(R"({"a":[1,2.5,"x",null,true]})", "a.json")["a"][1], 2.5);
  EXPECT_EQ(parse_json(R"({"a":{"k":1},"b":{"k":2}})", "a.json")["b"]["k"], 2);
}

TEST(Json, PutsEveryValueInItsPlace) {
  const std::string text =
      R"({"a":{"b":[{"c":1},[],{}, -2],"d":null},"e":["x",[true,[0.5]]],"f":18446744073709551615})";
  EXPECT_EQ(parse_json(text, "a.json"), nlohmann::json::parse(text));
  for (const char* whole : {"1", "\"x\"", "null", "[]", "{}"}) {
    EXPECT_EQ(parse_json(whole, "a.json"), nlohmann::json::parse(whole));
  }
}

TEST(Json, SaysWhereTheTextBreaks) {
  EXPECT_THAT(json_refusal("{\"a\": 1,\n \"b\" 2}"), StartsWith("a.json:2:6: not valid JSON"));
  EXPECT_THAT(json_refusal(""), StartsWith("a.json:1:1: not valid JSON"));
  EXPECT_THAT(json_refusal("[1] 2"), HasSubstr("not valid JSON"));
  EXPECT_THAT(json_refusal("\"\xC0\x80\""), HasSubstr("not valid JSON"));
  EXPECT_THAT(json_refusal(std::string_view("[1]\0[2]", 7)), HasSubstr("zero byte"));
  EXPECT_THAT(json_refusal("[1e999]"), HasSubstr("number out of range"));
}

TEST(Json, CapsTheNesting) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(json_refusal(nested(64)), "accepted");
  EXPECT_THAT(json_refusal(nested(65)), HasSubstr("deeper than 64"));
  EXPECT_THAT(json_refusal(std::string(1'000'000, '[')), HasSubstr("deeper than 64"));
  EXPECT_EQ(json_refusal(R"({"a":[1]})", 2), "accepted");
  EXPECT_THAT(json_refusal(R"({"a":[{}]})", 2), HasSubstr("deeper than 2"));
}

TEST(Json, RefusesTheSameKeyTwiceInOneObject) {
  EXPECT_THAT(json_refusal(R"({"a":1,"b":{"c":1,"c":2}})"), HasSubstr("\"c\" appears twice"));
  EXPECT_THAT(json_refusal("{\"\\n\":1,\"\\u000a\":2}"), HasSubstr("\"\\n\" appears twice"));
}

}  // namespace
}  // namespace semfuse
