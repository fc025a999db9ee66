#include "judge/text_slots.h"

#include <algorithm>
#include <string>

#include "core/lower_case.h"
#include "core/random.h"
#include "data/text_hash.h"
#include "text/word_scanner.h"

namespace semfuse {

void read_slots(std::string_view text, const SlotOptions& options, std::vector<std::uint32_t>& slots) {
  slots.clear();
  std::vector<std::uint64_t> words;
  for (const ScannedWord& word : scan_words(text)) {
    words.push_back(text_hash(lower_case(text.substr(word.begin, word.end - word.begin))));
  }
  for (std::size_t first = 0; first < words.size(); ++first) {
    std::uint64_t hash = 0;
    for (std::size_t i = first; i < std::min(words.size(), first + options.order); ++i) {
      hash = mix_bits(hash * 0x9E3779B97F4A7C15U + words[i]);
      slots.push_back(static_cast<std::uint32_t>(hash >> (64 - options.bits)));
    }
  }
}

}  // namespace semfuse
