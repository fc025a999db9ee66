// Counts words in bounded memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace semfuse {

struct CountedWord {
  std::string word;
  std::uint64_t count = 0;
};

// When there are more than `max_words` different ones, the rarest are forgotten, at least half of them: what is kept
// depends on what was counted, not on its order since the last time.
class WordCounts {
 public:
  explicit WordCounts(std::size_t max_words);

  void add(std::string_view word, std::uint64_t count = 1);

  // In no order that means anything.
  const std::vector<CountedWord>& words() const { return words_; }
  // The most frequent first, then by their bytes.
  std::vector<const CountedWord*> sorted() const;

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t index = 0;  // In words_, from 1; 0 for a free slot.
  };
  Slot& slot_of(std::string_view word, std::uint64_t hash);
  void place_all(std::size_t num_slots);
  void forget_rarest();

  std::size_t max_words_;
  std::vector<CountedWord> words_;
  std::vector<Slot> slots_;  // A power of two, at most half of them taken.
};

}  // namespace semfuse
