#include "wire/completion_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/api_error.h"

namespace semfuse {
namespace {

using testing::HasSubstr;

// The field that a body is refused for, with the message behind it.
std::string refusal(const std::string& body, bool chat = false) {
  try {
    parse_completion_request(body, chat);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 400U);
    return error.param() + "|" + error.what();
  }
  return "accepted";
}

TEST(CompletionRequest, ReadsWhatClientsSend) {
  const CompletionRequest request = parse_completion_request(
      R"({"model":"m","prompt":["a","b"],"max_tokens":5,"temperature":0.5,"top_p":0.9,"top_k":7,"min_p":0.1,"n":2,
          "seed":9,"stop":"x","stream":true,"stream_options":{"include_usage":true},"logprobs":2,"echo":true,
          "logit_bias":{"5":-100},"knobs":{"polarity":0.7,"mark":{"?":1.0},"other":"!"},"guidance":1.5,
          "explain":true,"grammar":"json","user":"u"})",
      false);
  EXPECT_EQ(request.model, "m");
  ASSERT_EQ(request.prompts.size(), 2U);
  EXPECT_EQ(request.prompts[1].text, "b");
  EXPECT_EQ(request.n, 2U);
  EXPECT_EQ(request.max_tokens, 5U);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_p, 0.9);
  EXPECT_EQ(request.sampling.top_k, 7U);
  EXPECT_EQ(request.min_p, 0.1);
  EXPECT_EQ(request.seed, 9U);
  EXPECT_THAT(request.stop, testing::ElementsAre("x"));
  EXPECT_TRUE(request.stream && request.include_usage && request.echo && request.explain);
  EXPECT_EQ(request.logprobs, 2U);
  EXPECT_THAT(request.logit_bias, testing::ElementsAre(testing::Pair(5, -100.0)));
  EXPECT_EQ(request.language.grammar, "json");
  EXPECT_EQ(request.guidance, 1.5);
  ASSERT_EQ(request.knobs.size(), 3U);  // By name, as the parser orders them.
  EXPECT_EQ(request.knobs[2].number, 0.7);
}

TEST(CompletionRequest, KeepsASchemaAsItWasSent) {
  const std::string schema = R"({"properties":{"zeta":{"const":12345678901234567890123},"alpha":{"const":1.50}}})";
  const std::string body = R"({"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":)" + schema;
  EXPECT_EQ(parse_completion_request(body + "}}}", false).language.json_schema, schema);
}

TEST(CompletionRequest, ATokenHasOneBias) {
  EXPECT_THAT(refusal(R"({"logit_bias":{"005":1,"5":-1}})"), HasSubstr("logit_bias|"));
  EXPECT_THAT(refusal(R"({"logit_bias":{"-0":1}})"), HasSubstr("logit_bias|"));
}

TEST(CompletionRequest, MessagesRepeatNoLongText) {
  const ApiError error(400, std::string(1 << 20, 'a') + "\xc3\xa9; lower it");
  EXPECT_LT(error.json().dump().size(), 1200U);
  EXPECT_THAT(error.json().dump(), HasSubstr("; lower it"));
}

TEST(CompletionRequest, TakesNullForAbsent) {
  const CompletionRequest request = parse_completion_request(
      R"({"prompt":null,"seed":null,"logprobs":null,"max_tokens":null,"stop":null,"knobs":null,"grammar":null,
          "response_format":null,"stream":null,"n":null,"temperature":null,"logit_bias":null})",
      false);
  EXPECT_EQ(request.prompts.size(), 1U);
  EXPECT_EQ(request.n, 1U);
  EXPECT_FALSE(request.seed || request.max_tokens || request.logprobs || request.stream);
}

TEST(CompletionRequest, ReadsTokenIds) {
  EXPECT_THAT(parse_completion_request(R"({"prompt":[4,2]})", false).prompts[0].ids, testing::ElementsAre(4, 2));
  const CompletionRequest several = parse_completion_request(R"({"prompt":[[4,2],[3]]})", false);
  ASSERT_EQ(several.prompts.size(), 2U);
  EXPECT_THAT(several.prompts[1].ids, testing::ElementsAre(3));
}

TEST(CompletionRequest, TakesTheBosThatEveryTextBeginsWithOffTokenIds) {
  const CompletionRequest request = parse_completion_request(R"({"prompt":[[1,5,6],[1],[5,1]]})", false);
  EXPECT_THAT(request.prompts[0].ids, testing::ElementsAre(5, 6));
  EXPECT_TRUE(request.prompts[0].with_bos);
  EXPECT_THAT(request.prompts[1].ids, testing::IsEmpty());
  EXPECT_TRUE(request.prompts[1].with_bos);
  EXPECT_THAT(request.prompts[2].ids, testing::ElementsAre(5, 1));
  EXPECT_FALSE(request.prompts[2].with_bos);
}

TEST(CompletionRequest, AChatGoesOnWithTheLastUserMessage) {
  const CompletionRequest request = parse_completion_request(
      R"({"messages":[{"role":"user","content":"one"},{"role":"assistant","content":null},
          {"role":"user","content":[{"type":"text","text":"tw"},{"type":"text","text":"o"}]}],
          "max_completion_tokens":3,"logprobs":true,"top_logprobs":4})",
      true);
  ASSERT_EQ(request.prompts.size(), 1U);
  EXPECT_EQ(request.prompts[0].text, "two");
  EXPECT_EQ(request.max_tokens, 3U);
  EXPECT_EQ(request.logprobs, 4U);
}

TEST(CompletionRequest, RefusesRolesThatNobodyHas) {
  EXPECT_THAT(refusal(R"({"messages":[{"role":"alien","content":"a"}]})", true),
              HasSubstr("messages|messages: there is no role \"alien\"; choose of system, "));
}

TEST(CompletionRequest, ReadsResponseFormats) {
  EXPECT_EQ(parse_completion_request(R"({"response_format":{"type":"json_object"}})", false).language.grammar, "json");
  EXPECT_EQ(
      parse_completion_request(
          R"({"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"null"}}}})", false)
          .language.json_schema,
      R"({"type":"null"})");
  EXPECT_TRUE(parse_completion_request(R"({"response_format":{"type":"text"}})", false).language.empty());
}

TEST(CompletionRequest, RefusesWhatItCannotHonour) {
  EXPECT_THAT(refusal(R"({"prompt":1})"), HasSubstr("prompt|"));
  EXPECT_THAT(refusal(R"({"prompt":[]})"), HasSubstr("prompt|"));
  EXPECT_THAT(refusal(R"({"prompt":[1,-2]})"), HasSubstr("prompt|"));
  EXPECT_THAT(refusal(R"({"n":0})"), HasSubstr("n|"));
  EXPECT_THAT(refusal(R"({"n":100,"prompt":["a","b"]})"), HasSubstr("n|"));
  EXPECT_THAT(refusal(R"({"temperature":-1})"), HasSubstr("temperature|"));
  EXPECT_THAT(refusal(R"({"temperature":"hot"})"), HasSubstr("temperature|"));
  EXPECT_THAT(refusal(R"({"top_p":1.5})"), HasSubstr("top_p|"));
  EXPECT_THAT(refusal(R"({"frequency_penalty":0.5})"), HasSubstr("frequency_penalty|"));
  EXPECT_THAT(refusal(R"({"suffix":"x"})"), HasSubstr("suffix|"));
  EXPECT_THAT(refusal(R"({"best_of":3})"), HasSubstr("best_of|"));
  EXPECT_THAT(refusal(R"({"tools":[{"type":"function"}]})"), HasSubstr("tools|"));
  EXPECT_THAT(refusal(R"({"logit_bias":{"x":1}})"), HasSubstr("logit_bias|"));
  EXPECT_THAT(refusal(R"({"seed":1.5})"), HasSubstr("seed|"));
  EXPECT_THAT(refusal(R"({"knobs":{"a":[1]}})"), HasSubstr("knobs.a|"));
  EXPECT_THAT(refusal(R"({"stream_options":{"include_usage":1}})"), HasSubstr("stream_options.include_usage|"));
  EXPECT_THAT(refusal(R"({"response_format":{"type":"xml"}})"), HasSubstr("response_format.type|"));
  EXPECT_THAT(refusal(R"({"temprature":1})"), HasSubstr("did you mean \"temperature\""));
  EXPECT_THAT(refusal(R"([])"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(refusal("{"), HasSubstr("request:1"));
  EXPECT_THAT(refusal("{}", true), HasSubstr("messages|"));
  EXPECT_THAT(refusal(R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})", true),
              HasSubstr("messages|"));
}

TEST(CompletionRequest, KnobsAreThoseOfTheModel) {
  const std::vector<Knob> knobs = {parse_knob("polarity: probability of polarity"),
                                   parse_knob("mark: distribution of final_mark over . ! ?")};
  const auto settings =
      knob_settings(knobs, parse_knobs_request(R"({"knobs":{"polarity":0.2,"mark":{"?":0.6,".":0.4}}})").knobs);
  EXPECT_EQ(knobs_json(knobs, settings).dump(), R"({"mark":{".":0.4,"!":0.0,"?":0.6},"polarity":0.2})");
  for (const char* const wrong :
       {R"({"knobs":{"length":1}})", R"({"knobs":{"polarity":2}})", R"({"knobs":{"polarity":{"a":1}}})",
        R"({"knobs":{"mark":0.5}})", R"({"knobs":{"mark":{"x":1}}})", R"({"knobs":{"mark":{"?":0.2}}})"}) {
    EXPECT_THROW(knob_settings(knobs, parse_knobs_request(wrong).knobs), ApiError) << wrong;
  }
}

}  // namespace
}  // namespace semfuse
