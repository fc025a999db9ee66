#include "io/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "io/json.h"

namespace semfuse {
namespace {

TEST(JsonWriter, KeepsTheOrderOfMembers) {
  Json json = {{"z", 1}, {"a", Json::array({true, Json(), "x"})}};
  json["m"]["inner"] = std::vector<int>{1, -2};
  json["z"] = 2U;
  EXPECT_EQ(json.dump(), R"({"z":2,"a":[true,null,"x"],"m":{"inner":[1,-2]}})");
  EXPECT_EQ(Json(std::map<std::string, std::string>{{"k", "v"}}).dump(), R"({"k":"v"})");
}

TEST(JsonWriter, IndentsEveryMemberAndItem) {
  const Json json = {{"a", Json::array({1, Json::array()})}, {"b", Json::object()}};
  EXPECT_EQ(json.dump(1), "{\n \"a\": [\n  1,\n  []\n ],\n \"b\": {}\n}");
}

TEST(JsonWriter, NumbersReadBackAsTheSame) {
  for (const double value : {0.0, -0.0, 0.1, 1.0 / 3.0, 1e300, 5e-324, 1e15, 123456789.0, -2.5e-7}) {
    EXPECT_EQ(parse_json(Json(value).dump(), "a.json").get<double>(), value) << Json(value).dump();
  }
  EXPECT_EQ(Json(1.0).dump(), "1.0");
  EXPECT_EQ(Json(0.1).dump(), "0.1");
  EXPECT_EQ(Json(1e300).dump(), "1e+300");
  EXPECT_EQ(Json(0.5F).dump(), "0.5");
  EXPECT_EQ(Json(std::numeric_limits<std::uint64_t>::max()).dump(), "18446744073709551615");
  EXPECT_EQ(Json(std::numeric_limits<std::int64_t>::min()).dump(), "-9223372036854775808");
}

TEST(JsonWriter, WhatIsNotFiniteIsNull) {
  EXPECT_EQ(Json(std::vector<double>{NAN, INFINITY, -INFINITY}).dump(), "[null,null,null]");
}

TEST(JsonWriter, EscapesWhatActsOnATerminal) {
  EXPECT_EQ(Json("a\"\\\n\t\x1b[31m\x7f").dump(), R"("a\"\\\n\t\u001b[31m\u007f")");
  EXPECT_EQ(Json("\xC2\x9B\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\xA8").dump(), R"("\u009b\u202e\u2066\u2028")");
  EXPECT_EQ(Json("caf\xC3\xA9 \xF0\x9F\x98\x80").dump(), "\"caf\xC3\xA9 \xF0\x9F\x98\x80\"");
  EXPECT_EQ(Json("a\xFFz").dump(), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(parse_json(Json("\xE2\x80\xAE").dump(), "a.json").get<std::string>(), "\xE2\x80\xAE");
  EXPECT_EQ(Json({{"\x1b", 1}}).dump(), R"({"\u001b":1})");
}

}  // namespace
}  // namespace semfuse
