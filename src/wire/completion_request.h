// A request for completions as clients of OpenAI's API send it, with knobs and grammars, read and checked by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "semfuse/generator.h"
#include "wire/knob_value.h"

namespace semfuse {

// Most of what one request may ask for; what a model and a server allow is checked by whoever has them.
constexpr std::size_t kMaxChoices = 128;  // Prompts times n.
constexpr std::size_t kMaxStops = 16;
constexpr std::size_t kMaxStopBytes = 1000;
constexpr std::size_t kMaxTopLogprobs = 20;

struct CompletionRequest {
  struct Prompt {
    std::string text;
    std::vector<TokenId> ids = {};  // If there are any, they are the prompt.
    bool with_bos = false;          // They were sent with the <bos> that every text begins with; `ids` are without it.
  };
  // What the text has to be in.
  struct Language {
    std::string grammar = {};      // GBNF, or the name of a built-in grammar.
    std::string json_schema = {};  // A JSON Schema as text.
    bool empty() const { return grammar.empty() && json_schema.empty(); }
  };

  bool chat = false;  // Answered as /v1/chat/completions does.
  std::string model;  // Empty: the first one.
  std::vector<Prompt> prompts = {};
  std::size_t n = 1;                           // Texts for each prompt.
  std::optional<std::size_t> max_tokens = {};  // After the prompt.
  SamplingOptions sampling = {};
  double min_p = 0.0;
  double repetition_penalty = 1.0;
  std::optional<std::uint64_t> seed = {};
  std::vector<std::string> stop = {};
  std::vector<std::pair<TokenId, double>> logit_bias = {};
  bool stream = false;
  bool include_usage = false;
  std::optional<std::size_t> logprobs = {};  // With so many of the most probable tokens.
  bool echo = false;
  Language language = {};
  std::vector<KnobValue> knobs = {};
  double guidance = 1.0;
  bool calibrated = true;
  bool explain = false;
};

// Throws ApiError, 400 with the field, for what is no request or cannot be honoured. null counts as absent; fields that
// change no text (user, metadata, ...) are passed over, others that are unknown are refused.
CompletionRequest parse_completion_request(std::string_view body, bool chat);

// {"knobs": {...}, "guidance": 1.5}, of a text that is being written. Throws ApiError.
struct KnobsRequest {
  std::vector<KnobValue> knobs;
  std::optional<double> guidance;
};
KnobsRequest parse_knobs_request(std::string_view body);

// {"model"?, "text"}, of /v1/tokenize, /v1/features: the text may be called prompt, content or input. Throws ApiError.
struct TextRequest {
  std::string model;
  std::string text;
};
TextRequest parse_text_request(std::string_view body);

// {"model"?, "tokens": [ids]}. Throws ApiError.
struct TokensRequest {
  std::string model;
  std::vector<TokenId> tokens;
};
TokensRequest parse_tokens_request(std::string_view body);

// {"model"?, "grammar", "text"?}. Throws ApiError.
struct GrammarRequest {
  std::string model;
  std::string grammar;
  std::optional<std::string> text;
};
GrammarRequest parse_grammar_request(std::string_view body);

}  // namespace semfuse
