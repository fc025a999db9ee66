#include "wire/completion_answer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace semfuse {
namespace {

nlohmann::json parsed(const std::string& event) {
  EXPECT_TRUE(event.starts_with("data: ") && event.ends_with("\n\n"));
  return nlohmann::json::parse(event.substr(6));
}

std::string piece_of(const CompletionEvents& events, std::size_t index, std::string_view text,
                     std::string_view finish_reason, const Json* logprobs, const Json* semfuse) {
  std::string event;
  events.add_piece(event, index, text, finish_reason, logprobs, semfuse);
  return event;
}

TEST(CompletionAnswer, PiecesAreWhatClientsRead) {
  const CompletionEvents events({.id = "cmpl-1", .created = 7, .model = "m", .chat = false});
  const nlohmann::json piece = parsed(piece_of(events, 2, "a\"\n", "", nullptr, nullptr));
  EXPECT_EQ(piece["id"], "cmpl-1");
  EXPECT_EQ(piece["object"], "text_completion");
  EXPECT_EQ(piece["choices"][0]["index"], 2);
  EXPECT_EQ(piece["choices"][0]["text"], "a\"\n");
  EXPECT_TRUE(piece["choices"][0]["finish_reason"].is_null());
  const Json extra = {{"realised", Json{{"length", 3.0}}}};
  const nlohmann::json last = parsed(piece_of(events, 0, "", "stop", nullptr, &extra));
  EXPECT_EQ(last["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(last["choices"][0]["semfuse"]["realised"]["length"], 3.0);
  EXPECT_EQ(parsed(events.usage({.prompt_tokens = 2, .completion_tokens = 3}))["usage"]["total_tokens"], 5);
}

TEST(CompletionAnswer, ChatsHaveDeltas) {
  const CompletionEvents events({.id = "chatcmpl-1", .created = 7, .model = "m", .chat = true});
  EXPECT_EQ(parsed(events.role(0))["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(parsed(piece_of(events, 0, "x", "", nullptr, nullptr))["choices"][0]["delta"]["content"], "x");
  EXPECT_TRUE(parsed(piece_of(events, 0, "", "stop", nullptr, nullptr))["choices"][0]["delta"].empty());
}

TEST(CompletionAnswer, LogprobsAreInBothForms) {
  const std::vector<TokenLogprob> tokens = {
      {.token = "a", .logprob = std::nullopt},
      {.token = " b", .logprob = -0.5, .top = {{" b", -0.5}}, .offset = 2, .character = 1}};
  const auto plain = nlohmann::json::parse(logprobs_json(false, tokens).dump());
  EXPECT_TRUE(plain["token_logprobs"][0].is_null());
  EXPECT_EQ(plain["token_logprobs"][1], -0.5);
  EXPECT_EQ(plain["top_logprobs"][1][" b"], -0.5);
  EXPECT_EQ(plain["text_offset"][1], 1);
  const auto chat = nlohmann::json::parse(logprobs_json(true, tokens).dump());
  EXPECT_EQ(chat["content"][1]["bytes"], nlohmann::json({32, 98}));
}

TEST(CompletionAnswer, PartsOfCharactersAreShownAsBytes) {
  const std::vector<TokenLogprob> tokens = {
      {.token = "\xe2\x80", .logprob = -1.0, .top = {{"\xe2\x80", -1.0}, {"\xe2", -2.0}, {"a", -3.0}, {"a", -4.0}}}};
  const auto plain = nlohmann::json::parse(logprobs_json(false, tokens).dump());
  EXPECT_EQ(plain["tokens"][0], "bytes:\\xe2\\x80");
  EXPECT_EQ(plain["top_logprobs"][0], nlohmann::json({{"bytes:\\xe2\\x80", -1.0}, {"bytes:\\xe2", -2.0}, {"a", -3.0}}));
  const auto chat = nlohmann::json::parse(logprobs_json(true, tokens).dump());
  EXPECT_EQ(chat["content"][0]["token"], "bytes:\\xe2\\x80");
  EXPECT_EQ(chat["content"][0]["bytes"], nlohmann::json({0xe2, 0x80}));
}

}  // namespace
}  // namespace semfuse
