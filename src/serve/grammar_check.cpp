#include "serve/grammar_check.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "grammar/grammars.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

// Takes "12:" off the text.
std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || length >= text.size() || text[length] != ':') return std::nullopt;
  text.remove_prefix(length + 1);
  return number;
}

// "grammar:2:5: what" has a place.
Json error_json(std::string_view message) {
  constexpr std::string_view kOrigin = "grammar:";
  std::string_view rest = message;
  Json line, column;
  if (rest.starts_with(kOrigin)) {
    rest.remove_prefix(kOrigin.size());
    const auto first = take_number(rest);
    const auto second = first ? take_number(rest) : std::nullopt;
    if (second) {
      line = *first;
      column = *second;
      message = rest.starts_with(' ') ? rest.substr(1) : rest;
    }
  }
  return {{"message", message}, {"line", std::move(line)}, {"column", std::move(column)}};
}

}  // namespace

Json check_grammar(ServedModel& model, const GrammarRequest& request) {
  try {
    const CompletionRequest::Language language{.grammar = request.grammar};
    const Grammar grammar = model.read_grammar(language);
    Json json = {{"ok", true}};
    for (const EmbeddedText& each : embedded_grammars()) {
      if (each.name == request.grammar) json["grammar"] = each.text;
    }
    if (request.text) json["matches"] = grammar.match(*request.text).accepted;
    if (!request.model.empty()) model.grammar(language);
    return json;
  } catch (const Error& error) {
    return {{"ok", false}, {"error", error_json(error.what())}};
  }
}

}  // namespace semfuse
