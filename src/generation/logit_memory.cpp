#include "generation/logit_memory.h"

#include <algorithm>

#include "core/random.h"

namespace semfuse {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 19;

}  // namespace

LogitMemory::LogitMemory(std::size_t vocab_size)
    : vocab_size_(vocab_size),
      num_slots_(1 + kMostBytes / (vocab_size * sizeof(float))),
      keys_(num_slots_),
      logits_(num_slots_ * vocab_size) {}

LogitMemory::Place LogitMemory::place_of(std::span<const TokenId> last_words) const {
  std::uint64_t key = last_words.size();
  for (const TokenId word : last_words) key = mix_bits(key + static_cast<std::uint64_t>(word) + 1);
  key |= 1;
  return {.slot = static_cast<std::size_t>((key >> 1) % num_slots_), .key = key};
}

std::span<const float> LogitMemory::recall(std::span<const TokenId> text) const {
  for (const std::size_t length : kLengths) {
    const Place place = place_of(text.last(std::min(length, text.size())));
    if (keys_[place.slot] == place.key) return std::span(logits_).subspan(place.slot * vocab_size_, vocab_size_);
  }
  return {};
}

void LogitMemory::store(std::span<const TokenId> text, std::span<const float> logits) {
  for (const std::size_t length : kLengths) {
    const Place place = place_of(text.last(std::min(length, text.size())));
    keys_[place.slot] = place.key;
    std::ranges::copy(logits, logits_.begin() + static_cast<std::ptrdiff_t>(place.slot * vocab_size_));
  }
}

}  // namespace semfuse
