// What the fuzzer does with bytes as a lexicon; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/require.h"
#include "semfuse/error.h"
#include "semfuse/feature_bank.h"

namespace semfuse {

// True if the bytes are a lexicon. Only Error may escape, in one line; every word that is accepted is one of a sentence
// and has features.
inline bool fuzz_lexicon(std::span<const std::uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    const Lexicon lexicon = Lexicon::parse(text, "fuzz");
    for (const LexiconEntry& entry : lexicon.entries()) {
      fuzz_require(split_words(entry.word).size() == 1);
      fuzz_require(lexicon.find(entry.word) == &entry);
    }
    const FeatureBank bank(lexicon, {.bank = FeatureSet::open});
    fuzz_require(bank.rows({lexicon.entries().front().word}).num_rows == 3);
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
