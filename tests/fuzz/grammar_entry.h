// What the fuzzer does with bytes as a grammar; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "semfuse/class_words.h"
#include "semfuse/error.h"
#include "semfuse/generator.h"
#include "semfuse/grammar.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {

// True if the bytes, up to a line "---", are a grammar. Only Error may escape, in one line. What follows that line is
// read as text, and the grammar is followed with words, its own bytes and the lexicon's vocabulary.
inline bool fuzz_grammar(std::span<const std::uint8_t> input) {
  const std::string_view all(reinterpret_cast<const char*>(input.data()), input.size());
  const std::size_t cut = all.find("\n---\n");
  const std::string_view text = cut == std::string_view::npos ? "" : all.substr(cut + 5).substr(0, 200);
  const auto one_line = [](const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  };
  try {
    const Grammar grammar = Grammar::parse(all.substr(0, cut), "fuzz", words_of(synthetic_lexicon()));
    const Grammar::Match match = grammar.match(text);
    fuzz_require(match.offset <= text.size() && !match.expected.empty());
    // What was read is the beginning of a sentence, and read again the same.
    fuzz_require(grammar.match(text.substr(0, match.offset)).offset == match.offset);
    TokenSurfaces bytes = {.first = {"", "", ""}, .later = {}};
    for (int byte = 0; byte < 256; ++byte) bytes.first.emplace_back(1, static_cast<char>(byte));
    bytes.later = bytes.first;
    for (const TokenSurfaces& surfaces : {bytes, TokenSurfaces::of(Vocabulary::from_words(synthetic_corpus_words()))}) {
      try {
        const CompiledGrammar compiled(grammar, surfaces);
        GrammarCursor cursor = compiled.begin();
        for (std::size_t step = 0; step < 20 && !cursor.ended(); ++step) {
          const std::vector<TokenId> ids = cursor.allowed().ids();
          if (ids.empty()) break;
          for (const std::size_t setting : cursor.settings()) fuzz_require(setting < grammar.settings().size());
          fuzz_require(cursor.advance(ids[(step * 7 + input.size()) % ids.size()]));
        }
      } catch (const Error& error) {
        one_line(error);
      }
    }
    try {
      const std::vector<Knob> knobs = {parse_knob("polarity: probability of polarity"),
                                       parse_knob("mark: distribution of final_mark over . ! ?")};
      fuzz_require(rule_settings(grammar, knobs).size() == grammar.settings().size());
    } catch (const Error& error) {
      one_line(error);
    }
    return true;
  } catch (const Error& error) {
    one_line(error);
    return false;
  }
}

}  // namespace semfuse
