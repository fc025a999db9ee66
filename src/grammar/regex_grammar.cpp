// Grammar::from_regex.
#include <fmt/format.h>

#include "grammar/character_automaton.h"
#include "grammar/gbnf_text.h"
#include "grammar/regex.h"
#include "semfuse/error.h"
#include "semfuse/grammar.h"

namespace semfuse {
namespace {

std::string regex_as_gbnf(std::string_view text, std::string_view origin) {
  Regex regex = parse_regex(text, origin);
  const Regex as_written = regex;
  const std::string never = fmt::format("{0} ::= \"x\" {0}\n", kNever);
  if (without_anchors(regex, false, {})) {
    const std::string body = gbnf_of(regex, gbnf_characters);
    return fmt::format("root ::= {}\n{}", body, body.find(kNever) != body.npos ? never : "");
  }
  // Anchors inside: a text matches where both ends are.
  const CharacterAutomaton automaton = CharacterAutomaton::of(as_written, false);
  return fmt::format("root ::= text-0\n{}{}", gbnf_rules(automaton, "text", gbnf_characters), never);
}

}  // namespace

Grammar Grammar::from_regex(std::string_view regex, std::string_view origin) {
  std::string gbnf;
  try {
    gbnf = regex_as_gbnf(regex, origin);
  } catch (const Error& error) {
    const std::string what = error.what();
    throw Error(what.starts_with(std::string(origin) + ":") ? what : fmt::format("{}: {}", origin, what));
  }
  try {
    return parse(gbnf, origin);
  } catch (const Error& error) {
    if (std::string_view(error.what()).find("describes no sentence") == std::string_view::npos) throw;
    throw Error(
        fmt::format("{}:1:1: no text matches this expression: a class has no characters, or ^ stands behind or $ "
                    "before a character; change that",
                    origin));
  }
}

}  // namespace semfuse
