// The coarse parts of speech of Universal Dependencies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace semfuse {

// A part of speech by its place in kUniversalTags.
using UniversalTag = std::uint8_t;

// Frequent ones first, which keeps tagger files small.
inline constexpr std::array<std::string_view, 17> kUniversalTags = {"NOUN",  "VERB", "PUNCT", "PRON", "ADP",   "PROPN",
                                                                    "DET",   "ADJ",  "AUX",   "ADV",  "CCONJ", "PART",
                                                                    "SCONJ", "NUM",  "INTJ",  "X",    "SYM"};

inline std::optional<UniversalTag> find_universal_tag(std::string_view name) {
  for (std::size_t i = 0; i < kUniversalTags.size(); ++i) {
    if (kUniversalTags[i] == name) return static_cast<UniversalTag>(i);
  }
  return std::nullopt;
}

}  // namespace semfuse
