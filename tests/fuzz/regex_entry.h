// What the fuzzer does with bytes as a regular expression; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/require.h"
#include "semfuse/error.h"
#include "semfuse/grammar.h"

namespace semfuse {

// True if the bytes, up to a line "---", are a regular expression. Only Error may escape, in one line. What follows
// that line is read as text.
inline bool fuzz_regex(std::span<const std::uint8_t> input) {
  const std::string_view all(reinterpret_cast<const char*>(input.data()), input.size());
  const std::size_t cut = all.find("\n---\n");
  const std::string_view text = cut == std::string_view::npos ? "" : all.substr(cut + 5).substr(0, 200);
  try {
    const Grammar grammar = Grammar::from_regex(all.substr(0, cut), "fuzz");
    const Grammar::Match match = grammar.match(text);
    fuzz_require(match.offset <= text.size());
    fuzz_require(Grammar::parse(grammar.gbnf(), "again").match(text).accepted == match.accepted);
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
