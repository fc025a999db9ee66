#include "text/word_counts.h"

#include <algorithm>

#include "text/word_hash.h"

namespace semfuse {

WordCounts::WordCounts(std::size_t max_words) : max_words_(std::max<std::size_t>(max_words, 1)), slots_(1024) {}

void WordCounts::add(std::string_view word, std::uint64_t count) {
  const std::uint64_t hash = word_hash(word);
  Slot& slot = slot_of(word, hash);
  if (slot.index != 0) {
    words_[slot.index - 1].count += count;
    return;
  }
  words_.push_back({.word = std::string(word), .count = count});
  slot = {.hash = static_cast<std::uint32_t>(hash >> 32), .index = static_cast<std::uint32_t>(words_.size())};
  if (words_.size() > max_words_) {
    forget_rarest();
  } else if (2 * words_.size() > slots_.size()) {
    place_all(2 * slots_.size());
  }
}

std::vector<const CountedWord*> WordCounts::sorted() const {
  std::vector<const CountedWord*> sorted;
  sorted.reserve(words_.size());
  for (const CountedWord& word : words_) sorted.push_back(&word);
  std::sort(sorted.begin(), sorted.end(), [](const CountedWord* a, const CountedWord* b) {
    return a->count != b->count ? a->count > b->count : a->word < b->word;
  });
  return sorted;
}

WordCounts::Slot& WordCounts::slot_of(std::string_view word, std::uint64_t hash) {
  const auto high = static_cast<std::uint32_t>(hash >> 32);
  for (std::size_t place = hash & (slots_.size() - 1);; place = (place + 1) & (slots_.size() - 1)) {
    Slot& slot = slots_[place];
    if (slot.index == 0 || (slot.hash == high && words_[slot.index - 1].word == word)) return slot;
  }
}

void WordCounts::place_all(std::size_t num_slots) {
  slots_.assign(num_slots, {});
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const std::uint64_t hash = word_hash(words_[i].word);
    slot_of(words_[i].word, hash) = {.hash = static_cast<std::uint32_t>(hash >> 32),
                                     .index = static_cast<std::uint32_t>(i + 1)};
  }
}

// All that are as rare as the median go, so that words of one count share one fate whatever their order.
void WordCounts::forget_rarest() {
  std::vector<std::uint64_t> counts;
  counts.reserve(words_.size());
  for (const CountedWord& word : words_) counts.push_back(word.count);
  const auto median = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::nth_element(counts.begin(), median, counts.end());
  std::erase_if(words_, [limit = *median](const CountedWord& word) { return word.count <= limit; });
  place_all(slots_.size());
}

}  // namespace semfuse
