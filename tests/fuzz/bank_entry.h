// What the fuzzer does with bytes as a bank, and as a text for it; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "features/natural_bank.h"
#include "fuzz/require.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are a bank for the English tagger and lexicon. Only Error may escape, in one line; a bank that is
// accepted gives values in [0, 1] for any text.
inline bool fuzz_bank(std::span<const std::uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    const NaturalBank bank(BankDeclaration::parse(text, "fuzz"), Tagger::english(), {english_lexicon()});
    FeatureCursor cursor(bank);
    for (std::size_t at = 0; at < text.size(); at += 5) {
      for (const float value : cursor.append({text.substr(at, 5), at % 3 == 0})) {
        fuzz_require(value >= 0.0f && value <= 1.0f);
      }
    }
    fuzz_require(cursor.end().size() == bank.size());
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
