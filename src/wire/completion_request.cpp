#include "wire/completion_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "generation/guidance.h"
#include "io/quoted_text.h"
#include "semfuse/vocabulary.h"
#include "wire/api_error.h"
#include "wire/raw_json.h"
#include "wire/request_fields.h"

namespace semfuse {

namespace {

constexpr std::uint64_t kMaxId = std::numeric_limits<TokenId>::max();
constexpr double kMaxBias = 100.0;

// What clients send and no text depends on.
constexpr const char* kPassedOver[] = {"user",
                                       "metadata",
                                       "store",
                                       "service_tier",
                                       "cache_prompt",
                                       "safety_identifier",
                                       "prompt_cache_key",
                                       "add_special_tokens"};

bool is_list_of_ids(const nlohmann::json& value) {
  return value.is_array() && !value.empty() && value.front().is_number();
}

std::vector<TokenId> read_ids(const RequestFields& fields, const std::string& name, const nlohmann::json& value) {
  std::vector<TokenId> ids;
  for (const nlohmann::json& each : value) {
    if (!each.is_number_unsigned() || each.get<std::uint64_t>() > kMaxId)
      fields.refuse(name, "token ids are whole numbers");
    ids.push_back(each.get<TokenId>());
  }
  return ids;
}

CompletionRequest::Prompt read_prompt(const RequestFields& fields, const nlohmann::json& value) {
  if (value.is_string()) return {.text = value.get<std::string>()};
  if (is_list_of_ids(value)) {
    CompletionRequest::Prompt prompt{.text = "", .ids = read_ids(fields, "prompt", value)};
    prompt.with_bos = prompt.ids.front() == Vocabulary::kBos;
    if (prompt.with_bos) prompt.ids.erase(prompt.ids.begin());
    return prompt;
  }
  fields.refuse("prompt", "must be a string, a list of strings, a list of token ids, or a list of such lists");
}

void read_prompts(RequestFields& fields, CompletionRequest& request) {
  const nlohmann::json* const value = fields.find("prompt");
  if (value == nullptr) {
    request.prompts.push_back({});
  } else if (value->is_array() && !is_list_of_ids(*value)) {
    if (value->size() > kMaxChoices) fields.refuse("prompt", fmt::format("at most {} at once", kMaxChoices));
    for (const nlohmann::json& each : *value) request.prompts.push_back(read_prompt(fields, each));
    if (request.prompts.empty()) fields.refuse("prompt", "the list is empty");
  } else {
    request.prompts.push_back(read_prompt(fields, *value));
  }
}

// The text of a message: a string, or parts of which each is one.
std::string read_content(const RequestFields& fields, const nlohmann::json& content) {
  if (content.is_null()) return "";
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) fields.refuse("messages", "content must be a string or a list of text parts");
  std::string text;
  for (const nlohmann::json& part : content) {
    const bool is_text = part.is_object() && part.value("type", nlohmann::json()) == "text" && part.contains("text") &&
                         part["text"].is_string();
    if (!is_text) fields.refuse("messages", "this server reads text only");
    text += part["text"].get<std::string>();
  }
  return text;
}

constexpr std::array<std::string_view, 6> kRoles = {"system", "developer", "user", "assistant", "tool", "function"};

// The model goes on with what the user said last.
void read_messages(RequestFields& fields, CompletionRequest& request) {
  const nlohmann::json* const messages = fields.find("messages");
  if (messages == nullptr || !messages->is_array() || messages->empty()) {
    fields.refuse("messages", "must be a list of messages, as [{\"role\": \"user\", \"content\": \"...\"}]");
  }
  CompletionRequest::Prompt prompt;
  for (const nlohmann::json& message : *messages) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string()) {
      fields.refuse("messages", "every message needs a role");
    }
    const auto& role = message["role"].get_ref<const std::string&>();
    if (std::ranges::find(kRoles, role) == kRoles.end()) {
      fields.refuse("messages",
                    fmt::format("there is no role {}; choose of {}", quoted_text(role), fmt::join(kRoles, ", ")));
    }
    const std::string text = read_content(fields, message.value("content", nlohmann::json()));
    if (role == "user") prompt.text = text;
  }
  request.prompts.push_back(std::move(prompt));
}

void read_sampling(RequestFields& fields, CompletionRequest& request) {
  request.sampling.temperature = fields.number("temperature", 0.0, 100.0).value_or(1.0);
  request.sampling.top_p = fields.number("top_p", 0.0, 1.0).value_or(1.0);
  if (request.sampling.top_p == 0.0) request.sampling.top_p = std::numeric_limits<double>::min();  // The first token.
  request.sampling.top_k = fields.whole("top_k", 0, kMaxId).value_or(0);
  request.min_p = fields.number("min_p", 0.0, 1.0).value_or(0.0);
  const auto penalty = fields.number("repetition_penalty", 1.0, 100.0);
  request.repetition_penalty = penalty ? *penalty : fields.number("repeat_penalty", 1.0, 100.0).value_or(1.0);
  for (const char* const name : {"frequency_penalty", "presence_penalty"}) {
    if (fields.number(name, -2.0, 2.0).value_or(0.0) != 0.0) {
      fields.refuse(name, "is not supported; use repetition_penalty, or leave it at 0");
    }
  }
}

void read_stop(RequestFields& fields, CompletionRequest& request) {
  const nlohmann::json* const stop = fields.find("stop");
  if (stop == nullptr) return;
  const nlohmann::json list = stop->is_array() ? *stop : nlohmann::json::array({*stop});
  if (list.size() > kMaxStops) fields.refuse("stop", fmt::format("at most {} texts", kMaxStops));
  for (const nlohmann::json& each : list) {
    if (!each.is_string()) fields.refuse("stop", "must be a string or a list of strings");
    if (each.get_ref<const std::string&>().size() > kMaxStopBytes) {
      fields.refuse("stop", fmt::format("each may have {} bytes", kMaxStopBytes));
    }
    if (!each.get<std::string>().empty()) request.stop.push_back(each.get<std::string>());
  }
}

void read_logit_bias(RequestFields& fields, CompletionRequest& request) {
  const nlohmann::json* const biases = fields.find("logit_bias");
  if (biases == nullptr) return;
  if (!biases->is_object()) fields.refuse("logit_bias", "must be an object of token ids, as {\"5\": -100}");
  for (const auto& [key, value] : biases->items()) {
    TokenId id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    // "005" and "5" would be the same token twice.
    if (error != std::errc() || end != key.data() + key.size() || id < 0 || std::to_string(id) != key) {
      fields.refuse("logit_bias", fmt::format("{} is no token id", quoted_text(key)));
    }
    if (!value.is_number() || !(std::abs(value.get<double>()) <= kMaxBias)) {
      fields.refuse("logit_bias", fmt::format("values are numbers from {} to {}", -kMaxBias, kMaxBias));
    }
    request.logit_bias.emplace_back(id, value.get<double>());
  }
}

void read_logprobs(RequestFields& fields, CompletionRequest& request) {
  if (!request.chat) {
    const nlohmann::json* const value = fields.find("logprobs");
    if (value == nullptr || (value->is_boolean() && !value->get<bool>())) return;
    request.logprobs = fields.whole("logprobs", 0, kMaxTopLogprobs);
    return;
  }
  const auto most = fields.whole("top_logprobs", 0, kMaxTopLogprobs);
  if (fields.flag("logprobs").value_or(false)) request.logprobs = most.value_or(0);
}

void read_language(RequestFields& fields, std::string_view body, CompletionRequest& request) {
  request.language.grammar = fields.text("grammar").value_or("");
  auto format = fields.object("response_format");
  if (!format) return;
  const std::string type = format->text("type").value_or("text");
  if (type == "json_object") {
    request.language.grammar = "json";
  } else if (type == "json_schema") {
    auto schema = format->object("json_schema");
    if (!schema) format->refuse("json_schema", "is missing");
    if (schema->find("schema") == nullptr) schema->refuse("schema", "is missing");
    // As it was sent: the grammar keeps the order of properties, and all digits.
    request.language.json_schema = raw_member(raw_member(raw_member(body, "response_format"), "json_schema"), "schema");
  } else if (type != "text") {
    format->refuse("type", "must be text, json_object or json_schema");
  }
  if (type != "text" && fields.text("grammar"))
    fields.refuse("response_format", "the grammar says what is allowed; leave one out");
}

std::vector<KnobValue> read_knobs(RequestFields& fields) {
  std::vector<KnobValue> values;
  const nlohmann::json* const knobs = fields.find("knobs");
  if (knobs == nullptr) return values;
  if (!knobs->is_object()) fields.refuse("knobs", "must be an object, as {\"polarity\": 0.7}");
  if (knobs->size() > kMaxKnobs) fields.refuse("knobs", "no model has so many");
  for (const auto& [name, value] : knobs->items()) {
    KnobValue knob{.knob = name, .number = std::nullopt};
    if (value.is_null()) continue;
    if (value.is_number()) {
      knob.number = value.get<double>();
    } else if (value.is_string()) {
      knob.weights.emplace_back(value.get<std::string>(), 1.0);
    } else if (value.is_object()) {
      for (const auto& [label, weight] : value.items()) {
        if (!weight.is_number()) fields.refuse("knobs." + name, "weights are numbers");
        knob.weights.emplace_back(label, weight.get<double>());
      }
    } else {
      fields.refuse("knobs." + name, "must be a number, a label, or weights of labels");
    }
    values.push_back(std::move(knob));
  }
  return values;
}

void read_what_is_fixed(RequestFields& fields, const CompletionRequest& request) {
  for (const char* const name : kPassedOver) fields.ignore(name);
  const auto suffix = fields.text("suffix");
  if (suffix && !suffix->empty()) fields.refuse("suffix", "is not supported: models write forwards");
  const auto best_of = fields.whole("best_of", 1, kMaxChoices);
  if (best_of && *best_of != request.n) fields.refuse("best_of", "must be n: every text is returned");
  for (const char* const name : {"tools", "functions", "tool_choice", "function_call"}) {
    const nlohmann::json* const value = fields.find(name);
    if (value != nullptr && !value->empty() && *value != "none") fields.refuse(name, "models of this server call none");
  }
}

}  // namespace

CompletionRequest parse_completion_request(std::string_view body, bool chat) {
  RequestFields fields(body);
  CompletionRequest request;
  request.chat = chat;
  request.model = fields.text("model").value_or("");
  if (chat) {
    read_messages(fields, request);
  } else {
    read_prompts(fields, request);
  }
  request.n = fields.whole("n", 1, kMaxChoices).value_or(1);
  if (request.n * request.prompts.size() > kMaxChoices) {
    fields.refuse("n", fmt::format("at most {} texts at once", kMaxChoices));
  }
  for (const char* const name : {"max_tokens", "max_completion_tokens", "n_predict"}) {
    if (const auto tokens = fields.whole(name, 0, kMaxId)) request.max_tokens = tokens;
  }
  read_sampling(fields, request);
  if (const nlohmann::json* const seed = fields.find("seed"); seed != nullptr) {
    if (!seed->is_number_integer()) fields.refuse("seed", "must be a whole number");
    request.seed = static_cast<std::uint64_t>(seed->get<std::int64_t>());
    if (seed->is_number_unsigned()) request.seed = seed->get<std::uint64_t>();
  }
  read_stop(fields, request);
  read_logit_bias(fields, request);
  request.stream = fields.flag("stream").value_or(false);
  if (auto options = fields.object("stream_options")) {
    request.include_usage = options->flag("include_usage").value_or(false);
  }
  read_logprobs(fields, request);
  request.echo = fields.flag("echo").value_or(false);
  read_language(fields, body, request);
  request.knobs = read_knobs(fields);
  request.guidance = fields.number("guidance", 0.0, kMostGuidance).value_or(1.0);
  request.calibrated = fields.flag("calibrated").value_or(true);
  request.explain = fields.flag("explain").value_or(false);
  read_what_is_fixed(fields, request);
  fields.refuse_others();
  return request;
}

KnobsRequest parse_knobs_request(std::string_view body) {
  RequestFields fields(body);
  KnobsRequest request{.knobs = read_knobs(fields), .guidance = fields.number("guidance", 0.0, kMostGuidance)};
  fields.refuse_others();
  return request;
}

TextRequest parse_text_request(std::string_view body) {
  RequestFields fields(body);
  TextRequest request{.model = fields.text("model").value_or(""), .text = ""};
  bool found = false;
  for (const char* const name : {"text", "prompt", "content", "input"}) {
    if (auto text = fields.text(name)) {
      request.text = std::move(*text);
      found = true;
    }
  }
  if (!found) fields.refuse("text", "is missing");
  fields.ignore("add_special_tokens");
  fields.refuse_others();
  return request;
}

TokensRequest parse_tokens_request(std::string_view body) {
  RequestFields fields(body);
  TokensRequest request{.model = fields.text("model").value_or(""), .tokens = {}};
  const nlohmann::json* const tokens = fields.find("tokens");
  if (tokens == nullptr || !tokens->is_array()) fields.refuse("tokens", "must be a list of token ids");
  request.tokens = read_ids(fields, "tokens", *tokens);
  fields.refuse_others();
  return request;
}

GrammarRequest parse_grammar_request(std::string_view body) {
  RequestFields fields(body);
  GrammarRequest request{.model = fields.text("model").value_or(""), .grammar = "", .text = fields.text("text")};
  const auto grammar = fields.text("grammar");
  if (!grammar) fields.refuse("grammar", "is missing");
  request.grammar = *grammar;
  fields.refuse_others();
  return request;
}

}  // namespace semfuse
