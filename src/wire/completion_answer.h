// Answers to requests for completions, as clients of OpenAI's API read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json_writer.h"
#include "semfuse/generator.h"

namespace semfuse {

// A token with what stood beside it, for `logprobs`.
struct TokenLogprob {
  std::string token;                                     // Its bytes.
  std::optional<double> logprob;                         // Nothing of a text's first token, which nothing came before.
  std::vector<std::pair<std::string, double>> top = {};  // The most probable, with their logarithms.
  std::size_t offset = 0;                                // Of its first byte in the text.
  std::size_t character = 0;                             // The one that the byte is of, counted from 0.
};

struct Usage {
  std::size_t prompt_tokens = 0;
  std::size_t completion_tokens = 0;
  Json json() const;
};

// What all parts of one answer begin with.
struct AnswerHead {
  std::string id;
  std::int64_t created = 0;
  std::string model;
  bool chat = false;
};

// One text of an answer that comes whole.
struct CompletionChoice {
  std::size_t index = 0;
  std::string text;
  std::string finish_reason;
  bool with_logprobs = false;
  std::vector<TokenLogprob> logprobs = {};
  Json semfuse = {};  // null: leave it out.
};

Json completion_json(const AnswerHead& head, const std::vector<CompletionChoice>& choices, const Usage& usage);

// The events of an answer that comes in pieces; each ends in an empty line. Cheap, as there is one for each token.
class CompletionEvents {
 public:
  explicit CompletionEvents(const AnswerHead& head);

  // A piece of one text, added to `events`. An empty reason is null: more follows. `semfuse` null is left out;
  // `logprobs` may be null too.
  void add_piece(std::string& events, std::size_t index, std::string_view text, std::string_view finish_reason,
                 const Json* logprobs, const Json* semfuse) const;
  // The first piece of a chat says who speaks.
  std::string role(std::size_t index) const;
  std::string usage(const Usage& usage) const;
  static std::string error(const Json& error);
  static std::string done() { return "data: [DONE]\n\n"; }

 private:
  bool chat_;
  std::string begin_;  // Up to the choices.
  std::string piece_;  // Up to the index of a piece's text.
};

// A token as text: "bytes:\\xe2\\x80" of one that is a part of a character.
std::string shown_token(const std::string& bytes);

Json logprobs_json(bool chat, const std::vector<TokenLogprob>& tokens);

}  // namespace semfuse
