// Hashed n-grams: a text as numbers of the words, pairs and triples of words that it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace semfuse {

struct SlotOptions {
  // There are 2^bits slots. More for many long texts, where different n-grams would share one.
  std::size_t bits = 20;
  // Most words of an n-gram. Three know "not very good"; 1 is a bag of words.
  std::size_t order = 3;
  bool operator==(const SlotOptions&) const = default;
};

inline constexpr std::size_t kFewestSlotBits = 8, kMostSlotBits = 24, kMostSlotOrder = 5;

// Replaces `slots` by one for each n-gram of the text's lower-cased words and marks, with repetitions. Depends on
// nothing else, in every version: files of judges rely on it.
void read_slots(std::string_view text, const SlotOptions& options, std::vector<std::uint32_t>& slots);

}  // namespace semfuse
