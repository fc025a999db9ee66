// What the fuzzer does with bytes as a JSON Schema; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/require.h"
#include "semfuse/error.h"
#include "semfuse/grammar.h"

namespace semfuse {

// True if the bytes, up to a line "---", are a schema that becomes a grammar. Only Error may escape, in one line. What
// follows that line is read as JSON. The first byte, if it is a digit, chooses white space and order.
inline bool fuzz_schema(std::span<const std::uint8_t> input) {
  std::string_view all(reinterpret_cast<const char*>(input.data()), input.size());
  JsonSchemaOptions options;
  if (!all.empty() && all[0] >= '0' && all[0] <= '9') {
    const int choice = all[0] - '0';
    options.whitespace = static_cast<JsonSchemaOptions::Whitespace>(choice % 3);
    options.any_order = choice / 3 % 2 == 1;
    all.remove_prefix(1);
  }
  const std::size_t cut = all.find("\n---\n");
  const std::string_view text = cut == std::string_view::npos ? "" : all.substr(cut + 5).substr(0, 200);
  try {
    const Grammar grammar = Grammar::from_json_schema(all.substr(0, cut), "fuzz", options);
    const Grammar::Match match = grammar.match(text);
    fuzz_require(match.offset <= text.size());
    // The text that is printed is the same grammar.
    fuzz_require(Grammar::parse(grammar.gbnf(), "again").match(text).accepted == match.accepted);
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
