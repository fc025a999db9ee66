#include "grammar/stored_mask.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/random.h"
#include "kernels/word_copy.h"

namespace semfuse {
namespace {

// Smaller sets are kept whole. So are those with more parts than a share of their words: then a copy is as fast.
constexpr std::size_t kSmallSetWords = 64;
constexpr std::size_t kWordsPerPart = 3;

// In four lanes, since each multiplication waits for the one before.
std::uint64_t hash_of_mask(std::span<const std::uint64_t> words) {
  std::array<std::uint64_t, 4> lanes = {1, 2, 3, 4};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == 0) continue;
    std::uint64_t& lane = lanes[i % 4];
    lane = (lane ^ words[i] ^ i << 40) * 0x9E3779B97F4A7C15ull;
    lane ^= lane >> 29;
  }
  return mix_bits(lanes[0] ^ mix_bits(lanes[1] ^ mix_bits(lanes[2] ^ mix_bits(lanes[3]))));
}

std::uint64_t hash_of_parts(std::span<const StoredMask::Part> parts) {
  std::uint64_t hash = parts.size();
  for (const StoredMask::Part& part : parts) {
    hash = (hash ^ (std::uint64_t{part.place} << 32 | part.bits)) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
  }
  return mix_bits(hash);
}

// False if they are too many.
bool find_parts(const DraftMask& draft, std::vector<StoredMask::Part>& parts) {
  const std::span<const std::uint64_t> words = draft.set().words();
  parts.clear();
  if (words.size() < kSmallSetWords) return false;
  const std::size_t most = words.size() / kWordsPerPart;
  return draft.all_words([&](std::size_t i) {
    const auto low = static_cast<std::uint32_t>(words[i]);
    const auto high = static_cast<std::uint32_t>(words[i] >> 32);
    if (low != 0) parts.push_back({static_cast<std::uint32_t>(2 * i), low});
    if (high != 0) parts.push_back({static_cast<std::uint32_t>(2 * i + 1), high});
    return parts.size() <= most;
  });
}

}  // namespace

std::optional<TokenId> StoredMask::only() const {
  if (set_) return set_->only();
  if (parts_.size() != 1 || !std::has_single_bit(parts_[0].bits)) return std::nullopt;
  return static_cast<TokenId>(32 * parts_[0].place + static_cast<std::uint32_t>(std::countr_zero(parts_[0].bits)));
}

void StoredMask::write(std::span<std::int32_t> words) const {
  if (set_) {
    write_words(*set_, words);
    return;
  }
  clear_words(words);
  for (const Part& part : parts_) words[part.place] = static_cast<std::int32_t>(part.bits);
}

void StoredMask::write(TokenSet& set) const {
  if (set_) {
    std::ranges::copy(set_->words(), set.words().begin());
    return;
  }
  std::ranges::fill(set.words(), 0);
  for (const Part& part : parts_) set.words()[part.place / 2] |= std::uint64_t{part.bits} << (32 * (part.place % 2));
}

void write_words(const TokenSet& set, std::span<std::int32_t> words) {
  const std::span<const std::uint64_t> from = set.words();
  if constexpr (std::endian::native == std::endian::little) {
    copy_words({reinterpret_cast<const std::int32_t*>(from.data()), words.size()}, words);
  } else {
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(from[i / 2] >> (32 * (i % 2))));
  }
}

template <typename Same, typename Make>
const StoredMask& StoredMasks::find(std::uint64_t hash, Same same, Make make) {
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (same(it->second)) return it->second;
  }
  return by_hash_.emplace(hash, make())->second;
}

const StoredMask& StoredMasks::store(const DraftMask& draft) {
  const std::size_t known = by_hash_.size();
  if (find_parts(draft, parts_)) {
    const StoredMask& stored = find(
        hash_of_parts(parts_),
        [&](const StoredMask& mask) { return mask.set() == nullptr && std::ranges::equal(mask.parts(), parts_); },
        [&] { return StoredMask(arena_.copy(std::span<const StoredMask::Part>(parts_))); });
    if (by_hash_.size() > known) memory_ += parts_.size() * sizeof(StoredMask::Part) + 100;
    return stored;
  }
  const TokenSet& set = draft.set();
  const StoredMask& stored = find(
      hash_of_mask(set.words()),
      [&](const StoredMask& mask) {
        return mask.set() != nullptr && std::ranges::equal(mask.set()->words(), set.words());
      },
      [&] { return StoredMask(set); });
  if (by_hash_.size() > known) memory_ += set.words().size_bytes() + 150;
  return stored;
}

}  // namespace semfuse
