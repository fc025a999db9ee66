#include "wire/completion_answer.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iterator>
#include <set>

#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

// Bytes of a token as numbers: it may be a part of a character.
Json bytes_of(const std::string& text) {
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned>(static_cast<unsigned char>(c)));
  return bytes;
}

Json chat_logprobs(const std::vector<TokenLogprob>& tokens) {
  Json content = Json::array();
  for (const TokenLogprob& token : tokens) {
    Json top = Json::array();
    for (const auto& [text, logprob] : token.top) {
      top.push_back({{"token", shown_token(text)}, {"logprob", logprob}, {"bytes", bytes_of(text)}});
    }
    content.push_back({{"token", shown_token(token.token)},
                       {"logprob", token.logprob.value_or(0.0)},
                       {"bytes", bytes_of(token.token)},
                       {"top_logprobs", std::move(top)}});
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

}  // namespace

std::string shown_token(const std::string& bytes) {
  if (valid_utf8_prefix(bytes) == bytes.size()) return bytes;
  std::string shown = "bytes:";
  for (const char c : bytes) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return shown;
}

Json logprobs_json(bool chat, const std::vector<TokenLogprob>& tokens) {
  if (chat) return chat_logprobs(tokens);
  Json texts = Json::array();
  Json logprobs = Json::array();
  Json tops = Json::array();
  Json offsets = Json::array();
  for (const TokenLogprob& token : tokens) {
    texts.push_back(shown_token(token.token));
    logprobs.push_back(token.logprob ? Json(*token.logprob) : Json());
    Json top = Json::object();
    std::set<std::string> seen;  // Two tokens may look the same; the more probable one is shown.
    for (const auto& [text, logprob] : token.top) {
      const std::string shown = shown_token(text);
      if (seen.insert(shown).second) top[shown] = logprob;
    }
    tops.push_back(token.logprob ? std::move(top) : Json());
    offsets.push_back(token.character);
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

Json Usage::json() const {
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", completion_tokens},
          {"total_tokens", prompt_tokens + completion_tokens}};
}

Json completion_json(const AnswerHead& head, const std::vector<CompletionChoice>& choices, const Usage& usage) {
  Json list = Json::array();
  for (const CompletionChoice& choice : choices) {
    Json each = {{"index", choice.index}};
    if (head.chat) {
      each["message"] = Json{{"role", "assistant"}, {"content", choice.text}};
    } else {
      each["text"] = choice.text;
    }
    each["logprobs"] = choice.with_logprobs ? logprobs_json(head.chat, choice.logprobs) : Json();
    each["finish_reason"] = choice.finish_reason;
    if (choice.semfuse.dump() != "null") each["semfuse"] = choice.semfuse;
    list.push_back(std::move(each));
  }
  return {{"id", head.id},
          {"object", head.chat ? "chat.completion" : "text_completion"},
          {"created", head.created},
          {"model", head.model},
          {"choices", std::move(list)},
          {"usage", usage.json()}};
}

CompletionEvents::CompletionEvents(const AnswerHead& head) : chat_(head.chat) {
  begin_ = "data: {\"id\":";
  append_json(begin_, head.id);
  begin_ += head.chat ? ",\"object\":\"chat.completion.chunk\"" : ",\"object\":\"text_completion\"";
  fmt::format_to(std::back_inserter(begin_), ",\"created\":{},\"model\":", head.created);
  append_json(begin_, head.model);
  begin_ += ',';
  piece_ = begin_ + "\"choices\":[{\"index\":";
}

void CompletionEvents::add_piece(std::string& events, std::size_t index, std::string_view text,
                                 std::string_view finish_reason, const Json* logprobs, const Json* semfuse) const {
  events += piece_;
  std::array<char, 20> digits;
  events.append(digits.data(), std::to_chars(digits.begin(), digits.end(), index).ptr);
  if (!chat_) {
    events += ",\"text\":";
    append_json(events, text);
  } else if (text.empty() && !finish_reason.empty()) {
    events += ",\"delta\":{}";
  } else {
    events += ",\"delta\":{\"content\":";
    append_json(events, text);
    events += '}';
  }
  events += ",\"logprobs\":";
  events += logprobs == nullptr ? "null" : logprobs->dump();
  events += ",\"finish_reason\":";
  if (finish_reason.empty()) {
    events += "null";
  } else {
    append_json(events, finish_reason);
  }
  if (semfuse != nullptr) {
    events += ",\"semfuse\":";
    events += semfuse->dump();
  }
  events += "}]}\n\n";
}

std::string CompletionEvents::role(std::size_t index) const {
  return begin_ + fmt::format(
                      "\"choices\":[{{\"index\":{},\"delta\":{{\"role\":\"assistant\",\"content\":\"\"}},"
                      "\"logprobs\":null,\"finish_reason\":null}}]}}\n\n",
                      index);
}

std::string CompletionEvents::usage(const Usage& usage) const {
  return begin_ + "\"choices\":[],\"usage\":" + usage.json().dump() + "}\n\n";
}

std::string CompletionEvents::error(const Json& error) {
  return "data: " + error.dump() + "\n\n";
}

}  // namespace semfuse
