#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "semfuse/error.h"
#include "semfuse/grammar.h"

namespace semfuse {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr JsonSchemaOptions kDense = {.whitespace = JsonSchemaOptions::Whitespace::none};

struct SchemaCase {
  std::string schema;
  std::vector<std::string> accepted;
  std::vector<std::string> refused;
};

void expect(const SchemaCase& c, const JsonSchemaOptions& options = kDense) {
  SCOPED_TRACE(c.schema);
  const Grammar grammar = Grammar::from_json_schema(c.schema, "s", options);
  for (const std::string& text : c.accepted)
    EXPECT_TRUE(grammar.match(text).accepted) << text << "\n" << grammar.gbnf();
  for (const std::string& text : c.refused)
    EXPECT_FALSE(grammar.match(text).accepted) << text << "\n" << grammar.gbnf();
}

TEST(SchemaGrammar, TypesAndValues) {
  expect({"true", {"1", "\"x\"", "[1,{\"a\":null}]", "{}"}, {"", "1 ", "tru"}});
  expect({R"({"type":"integer"})", {"0", "-12", "70"}, {"1.5", "01", "\"1\"", "1e3"}});
  expect({R"({"type":["string","null"]})", {"\"\"", "null", R"("\u00e9\ud83d\ude00")"}, {"1", R"("\ud83d")"}});
  expect({R"({"enum":["a","b\n",1,null,[1,{"x":2}]]})", {"\"a\"", R"("b\n")", "1", "null", R"([1,{"x":2}])"}, {"2"}});
  expect({R"({"enum":["a",1,2,30],"type":"integer","maximum":10})", {"1", "2"}, {"\"a\"", "30"}});
  expect({R"({"const":{"a":[true]}})", {R"({"a":[true]})"}, {"{}"}});
}

TEST(SchemaGrammar, Numbers) {
  expect({R"({"type":"integer","minimum":-5,"maximum":130})",
          {"-5", "-4", "-0", "0", "9", "10", "99", "100", "130"},
          {"-6", "-10", "131", "200", "1000", "00"}});
  expect({R"({"type":"integer","exclusiveMinimum":9.5})", {"10", "99", "12345"}, {"9", "-10", "0"}});
  expect({R"({"type":"integer","multipleOf":7,"minimum":10})", {"14", "21", "700"}, {"7", "15", "0"}});
  expect({R"({"type":"number","minimum":0.5,"exclusiveMaximum":2.25})",
          {"0.5", "0.50", "1", "2", "2.2", "2.24999"},
          {"0.4999", "0", "2.25", "2.3", "3", "-1", "10"}});
  expect({R"({"type":"number","multipleOf":0.25})", {"0", "-1.25", "3.50"}, {"0.3", "1.255"}});
  expect({R"({"minimum":3})", {"3", "4.5", "\"x\"", "null"}, {"2"}});
  expect({R"({"type":"integer","minimum":123456789012345678901234567890})",
          {"123456789012345678901234567890", "223456789012345678901234567890"},
          {"123456789012345678901234567889"}});
}

TEST(SchemaGrammar, Strings) {
  expect({R"({"type":"string","minLength":2,"maxLength":3})",
          {"\"ab\"", "\"é😀\"", R"("\n\"a")"},
          {"\"a\"", "\"abcd\"", "\"\""}});
  expect({R"({"type":"string","pattern":"^a+b?$"})", {"\"a\"", "\"aab\""}, {"\"b\"", "\"xa\"", "\"abc\""}});
  expect({R"({"type":"string","pattern":"b\"c"})", {R"("xb\"cy")", R"("b\"c")"}, {"\"bc\""}});
  expect({R"({"type":"string","pattern":"^[ab]*$","minLength":2,"maxLength":3})",
          {"\"ab\"", "\"aba\""},
          {"\"a\"", "\"abab\"", "\"ac\""}});
  expect(
      {R"({"allOf":[{"type":"string","pattern":"a"},{"pattern":"^.b"}]})", {"\"ab\"", "\"xba\""}, {"\"xb\"", "\"a\""}});
  const std::vector<SchemaCase> formats = {
      {"date", {"2024-02-29", "1999-12-31"}, {"2023-02-29", "2024-13-01", "2024-04-31"}},
      {"time", {"12:30:00Z", "23:59:59.5+01:30"}, {"24:00:00Z", "12:30Z"}},
      {"date-time", {"2024-02-29T12:30:00Z"}, {"2024-02-29"}},
      {"uuid", {"123e4567-e89b-12d3-a456-426614174000"}, {"123e4567"}},
      {"email", {"a.b@example.org"}, {"a@", "@b.c", "a b@c.d"}},
      {"hostname", {"example.org"}, {"-a.b", "a..b"}},
      {"ipv4", {"127.0.0.1"}, {"256.0.0.1", "1.2.3"}},
      {"ipv6", {"::", "::1", "2001:db8::8a2e:370:7334", "::ffff:1.2.3.4"}, {":::", "1:2:3", "12345::"}},
      {"uri", {"https://user@example.org:80/a/b?c=d#e", "mailto:a@b.c"}, {"example", "http://a b"}},
      {"duration", {"P1DT12H", "P3W", "PT5M"}, {"P", "1D", "P1H"}}};
  for (const SchemaCase& format : formats) {
    SchemaCase quoted = {R"({"type":"string","format":")" + format.schema + "\"}", {}, {}};
    for (const std::string& text : format.accepted) quoted.accepted.push_back('"' + text + '"');
    for (const std::string& text : format.refused) quoted.refused.push_back('"' + text + '"');
    expect(quoted);
  }
}

TEST(SchemaGrammar, Arrays) {
  expect({R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3})",
          {"[1]", "[1,2,3]"},
          {"[]", "[1,2,3,4]", "[\"a\"]"}});
  expect({R"({"type":"array","prefixItems":[{"const":1},{"const":2}],"items":{"const":3}})",
          {"[]", "[1]", "[1,2]", "[1,2,3,3]"},
          {"[2]", "[1,3]", "[1,2,2]"}});
  expect({R"({"type":"array","prefixItems":[{"const":1},{"const":2}],"items":false,"minItems":1})",
          {"[1]", "[1,2]"},
          {"[]", "[1,2,3]"}});
  expect({R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}});
}

TEST(SchemaGrammar, Objects) {
  const std::string person =
      R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["age"]})";
  expect({person,
          {R"({"name":"x","age":1})", R"({"age":1})", R"({"age":1,"other":[]})", R"({"age":1,"na":0,"names":0})"},
          {"{}", R"({"name":"x"})", R"({"age":"x"})", R"({"age":1,"name":2})", R"({"age":1,"age":"x"})"}});
  JsonSchemaOptions any = kDense;
  any.any_order = true;
  expect({person,
          {R"({"age":1,"name":"x"})", R"({"q":0,"age":1,"r":0,"name":"x"})", R"({"q":0,"age":1})"},
          {"{}", R"({"name":"x"})", R"({"age":1,"age":1})", R"({"q":0})"}},
         any);
  expect({R"({"type":"object","properties":{"a":{},"b":{},"c":false},"additionalProperties":false})",
          {"{}", R"({"a":1})", R"({"b":1})", R"({"a":1,"b":2})"},
          {R"({"c":1})", R"({"d":1})", R"({"b":1,"a":1})"}});
  expect({R"({"type":"object","additionalProperties":{"type":"integer"},"minProperties":1,"maxProperties":2})",
          {R"({"x":1})", R"({"x":1,"y":2})"},
          {"{}", R"({"x":"y"})", R"({"x":1,"y":2,"z":3})"}});
  expect(
      {R"({"type":"object","properties":{"a":{},"b":{},"c":{}},"additionalProperties":false,"minProperties":2,"maxProperties":2})",
       {R"({"a":1,"b":2})", R"({"a":1,"c":2})", R"({"b":1,"c":2})"},
       {"{}", R"({"a":1})", R"({"a":1,"b":2,"c":3})"}});
  expect(
      {R"({"type":"object","properties":{"x1":{"const":0}},"patternProperties":{"^x":{"type":"integer"},"y$":{"minimum":5}},
             "additionalProperties":{"type":"string"}})",
       {R"({"x1":0})", R"({"x2":7})", R"({"xy":5})", R"({"ay":6,"ay2":"s"})", R"({"b":"s"})", R"({"x":1,"b":"s"})"},
       {R"({"x1":1})", R"({"x2":"s"})", R"({"xy":4})", R"({"b":1})", R"({"ay":1})"}});
  expect({R"({"type":"object","required":["k"],"additionalProperties":{"type":"null"}})",
          {R"({"k":null})"},
          {"{}", R"({"k":1})"}});
}

TEST(SchemaGrammar, Combinations) {
  expect({R"({"anyOf":[{"type":"string"},{"type":"integer","minimum":5}]})", {"\"a\"", "5"}, {"4", "null"}});
  expect({R"({"oneOf":[{"type":"string"},{"type":"integer"}]})", {"\"a\"", "5"}, {"null"}});
  expect({R"({"type":"object","oneOf":[{"properties":{"k":{"const":"a"},"x":{"type":"integer"}},"required":["k"]},
             {"properties":{"k":{"const":"b"}},"required":["k"]}]})",
          {R"({"k":"a","x":1})", R"({"k":"b","x":"y"})"},
          {R"({"k":"a","x":"y"})", R"({"k":"c"})"}});
  expect({R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},
             {"properties":{"a":{"minimum":3},"b":{"type":"null"}}}]})",
          {R"({"a":3})", R"({"a":4,"b":null})"},
          {R"({"a":2})", R"({"a":3,"b":1})"}});
  expect({R"({"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"v":{"type":"integer"},
             "kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["v"],"additionalProperties":false}}})",
          {R"({"v":1})", R"({"v":1,"kids":[{"v":2,"kids":[]},{"v":3}]})"},
          {R"({"v":1,"kids":[{}]})"}});
  expect({R"({"type":"array","items":{"$ref":"#"}})", {"[]", "[[],[[]]]"}, {"[1]"}});
}

TEST(SchemaGrammar, Whitespace) {
  const std::string schema =
      R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}},"required":["a"],"additionalProperties":false})";
  expect({schema, {R"({"a": [1, 2]})"}, {R"({"a":[1,2]})"}}, {.whitespace = JsonSchemaOptions::Whitespace::spaced});
  expect({schema,
          {R"({"a":[1,2]})", R"({ "a": [1, 2] })", "{\n  \"a\": [\n    1,\n    2\n  ]\n}"},
          {R"({"a" :[1]})", "{  \"a\":[1]}"}},
         {});
}

std::string schema_error_of(const std::string& schema) {
  try {
    Grammar::from_json_schema(schema, "s", kDense);
    return "accepted";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(SchemaGrammar, RefusesByPointerWhatItCannotSay) {
  EXPECT_THAT(schema_error_of(R"({"properties":{"a/b":{"not":{}}}})"),
              StartsWith("s#/properties/a~1b/not: this keyword"));
  EXPECT_THAT(schema_error_of(R"({"items":[{}]})"), StartsWith("s#/items: a list of schemas is called prefixItems"));
  EXPECT_THAT(schema_error_of(R"({"uniqueItems":true})"), StartsWith("s#/uniqueItems:"));
  EXPECT_THAT(schema_error_of(R"({"format":"idn-email"})"), StartsWith("s#/format: this format is not supported"));
  EXPECT_THAT(schema_error_of(R"({"type":"strin"})"), StartsWith("s#/type: there is no such type"));
  EXPECT_THAT(schema_error_of(R"({"propertys":{}})"), HasSubstr("did you mean"));
  EXPECT_THAT(schema_error_of(R"({"oneOf":[{"type":"integer"},{"type":"number"}]})"),
              StartsWith("s#/oneOf: alternatives 0 and 1"));
  EXPECT_THAT(schema_error_of(R"({"$ref":"other.json"})"), StartsWith("s#/$ref: only references within"));
  EXPECT_THAT(schema_error_of(R"({"$ref":"#/$defs/x"})"), StartsWith("s#/$ref: there is nothing at"));
  EXPECT_THAT(schema_error_of(R"({"items":{"pattern":"(a"}})"), StartsWith("s#/items/pattern: pattern:1:1:"));
  EXPECT_THAT(schema_error_of(R"({"maxLength":1000000000})"), StartsWith("s#/maxLength: a count above 65536"));
  EXPECT_THAT(schema_error_of(R"({"minLength":-1})"), StartsWith("s#/minLength: this needs a count"));
  EXPECT_THAT(schema_error_of("false"), StartsWith("s#: no value is valid"));
  EXPECT_THAT(schema_error_of(R"({"type":"string","enum":[1]})"), StartsWith("s#: no value is valid"));
  EXPECT_THAT(schema_error_of("[]"), StartsWith("s#: a schema is an object"));
  EXPECT_THAT(schema_error_of("{\"a\":"), StartsWith("s:1:"));
  EXPECT_THAT(schema_error_of("{\"type\":\"\xff\"}"), StartsWith("s:1:"));
}

TEST(SchemaGrammar, HostileSchemasAreBounded) {
  EXPECT_THAT(schema_error_of(R"({"$ref":"#"})"), HasSubstr("refers to itself"));
  EXPECT_THAT(
      schema_error_of(
          R"({"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}}})"),
      HasSubstr("refers to itself"));
  EXPECT_THAT(schema_error_of(R"({"required":["x"],"properties":{"x":{"$ref":"#"}},"type":"object"})"),
              HasSubstr("no value"));
  std::string deep = "true";
  for (int i = 0; i < 60; ++i) deep = R"({"type":"array","items":)" + deep + "}";
  EXPECT_EQ(schema_error_of(deep), "accepted");
  for (int i = 0; i < 60; ++i) deep = R"({"items":)" + deep + "}";
  EXPECT_THAT(schema_error_of(deep), HasSubstr("nests deeper"));
  std::string product = "{}";
  for (int i = 0; i < 30; ++i) product = R"({"allOf":[{"anyOf":[{"minimum":1},{"maximum":0}]},)" + product + "]}";
  EXPECT_THAT(schema_error_of(product), HasSubstr("too many alternatives"));
  std::string values;
  for (int i = 0; i < 5000; ++i) values += (i > 0 ? ",\"value-" : "\"value-") + std::to_string(i * 7919) + "\"";
  EXPECT_EQ(schema_error_of("{\"enum\":[" + values + "]}"), "accepted");
}

}  // namespace
}  // namespace semfuse
