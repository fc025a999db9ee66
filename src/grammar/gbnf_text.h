// Writes GBNF: characters, literals, regular expressions and automata as rules.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/character_automaton.h"
#include "grammar/regex.h"

namespace semfuse {

std::string gbnf_literal(std::string_view utf8);
// A class, or a literal for a single character. Not for an empty set.
std::string gbnf_characters(const std::vector<CodePointRange>& ranges);
// The same characters inside the quotes of a JSON string: as they are, or escaped where JSON wants that.
std::string gbnf_json_characters(const std::vector<CodePointRange>& ranges);
std::string gbnf_count(std::uint32_t least, std::uint32_t most);  // "*", "{2,5}"

using CharactersAsText = std::function<std::string(const std::vector<CodePointRange>&)>;

// A sentence of no grammar: `name` is a rule that calls itself.
inline constexpr std::string_view kNever = "never";

// An expression without anchors. Mentions the rule kNever if it has a class without characters.
std::string gbnf_of(const Regex& regex, const CharactersAsText& characters);

// Rules for the automaton's states, named prefix-0, prefix-1, ...; the first is the start.
std::string gbnf_rules(const CharacterAutomaton& automaton, std::string_view prefix,
                       const CharactersAsText& characters);

}  // namespace semfuse
