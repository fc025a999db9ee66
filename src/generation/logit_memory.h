// Logits that followed the same last words some time ago.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "semfuse/vocabulary.h"

namespace semfuse {

// Good enough to guess what will be drawn: random numbers are known beforehand, and what a model says depends mostly on
// the last few words. A guess may be wrong at no harm, so entries are simply overwritten by others of the same place.
class LogitMemory {
 public:
  static constexpr std::size_t kLargestVocabulary = 2000;  // Beyond, a guess is not worth its time.

  explicit LogitMemory(std::size_t vocab_size);

  // What followed the longest known end of the text, or empty.
  std::span<const float> recall(std::span<const TokenId> text) const;
  void store(std::span<const TokenId> text, std::span<const float> logits);

 private:
  static constexpr std::array<std::size_t, 2> kLengths = {4, 1};  // Words that are compared; the longest first.

  struct Place {
    std::size_t slot;
    std::uint64_t key;
  };
  Place place_of(std::span<const TokenId> last_words) const;

  std::size_t vocab_size_;
  std::size_t num_slots_;
  std::vector<std::uint64_t> keys_;  // 0: nothing is there.
  std::vector<float> logits_;        // [num_slots, vocab_size]
};

}  // namespace semfuse
