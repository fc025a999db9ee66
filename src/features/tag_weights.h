// What a tagger learned: for each of its features a small number for each part of speech. Features are known by a hash.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "features/universal_tag.h"

namespace semfuse {

// Features are told apart by this many bits of their hash.
inline constexpr int kTagFeatureBits = 22;

// Which of all possible features there are, in the order of their hashes, and each one's place among them.
class TagFeatures {
 public:
  TagFeatures() : words_((std::size_t{1} << kTagFeatureBits) / 64) {}
  // Of ascending hashes below 2^kTagFeatureBits, each once.
  explicit TagFeatures(std::span<const std::uint32_t> hashes);

  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
  std::size_t find(std::uint32_t hash) const {
    const Word& word = words_[hash >> 6];
    const std::uint64_t bit = std::uint64_t{1} << (hash & 63);
    if ((word.bits & bit) == 0) return kAbsent;
    return word.before + static_cast<std::size_t>(std::popcount(word.bits & (bit - 1)));
  }
  std::size_t size() const { return size_; }

  // Writes the places of those hashes that are there, and returns how many. Whether a feature is there is hard to
  // guess, so there is no branch to guess it.
  std::size_t find_all(std::span<const std::uint32_t> hashes, std::uint32_t* places) const {
    std::size_t found = 0;
    for (const std::uint32_t hash : hashes) {
      const Word& word = words_[hash >> 6];
      const std::uint64_t below = (std::uint64_t{1} << (hash & 63)) - 1;
      places[found] = word.before + count_bits(word.bits & below);
      found += word.bits >> (hash & 63) & 1;
    }
    return found;
  }

 private:
  // std::popcount is a function call where a program must run on every processor.
  static std::uint32_t count_bits(std::uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555ULL;
    bits = (bits & 0x3333333333333333ULL) + (bits >> 2 & 0x3333333333333333ULL);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0FULL;
    return static_cast<std::uint32_t>(bits * 0x0101010101010101ULL >> 56);
  }

  struct Word {
    std::uint64_t bits = 0;
    std::uint32_t before = 0;  // Features of the words before this one.
  };
  std::vector<Word> words_;
  std::size_t size_ = 0;
};

// A sum of weights for each part of speech, with room for whole vectors. No sum leaves the range, so it is the same in
// whichever order and parts it was added up.
using TagScores = std::array<std::int16_t, 24>;

// Immutable, so safe to share between threads.
class TagWeights {
 public:
  using Row = std::array<std::int8_t, kUniversalTags.size()>;

  TagWeights() = default;
  // A row for each of the hashes, which are as TagFeatures wants them.
  TagWeights(std::vector<std::uint32_t> hashes, const std::vector<Row>& rows);

  // As they are in a tagger's file.
  void append_to(std::string& bytes) const;
  // Takes them from the beginning of `bytes`. Throws Error.
  static TagWeights take_from(std::string_view& bytes);

  std::size_t size() const { return hashes_.size(); }

  // The part of speech with the highest sum over the features; of equals the first.
  UniversalTag best(std::span<const std::uint32_t> features) const;
  // The same in parts: at most 32 features altogether.
  void add(std::span<const std::uint32_t> features, TagScores& scores) const;
  static UniversalTag best_of(const TagScores& scores);

 private:
  static constexpr std::size_t kStride = std::tuple_size_v<TagScores>;

  std::vector<std::uint32_t> hashes_;
  TagFeatures features_;
  std::vector<std::int8_t> weights_;
};

}  // namespace semfuse
