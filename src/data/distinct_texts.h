// Counts how many texts were met before, in memory that does not grow past a bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace semfuse {

// Keeps the hash of every text while there are few; then of every second, fourth, ... as the hash's own bits choose,
// and counts each for so many. So the same texts give the same numbers in any order.
class DistinctTexts {
 public:
  // 16 bytes each, twice as many places: two million of them are 64 MiB.
  explicit DistinctTexts(std::size_t max_kept = std::size_t{1} << 21) : max_kept_(max_kept), places_(1024) {}

  void add(std::uint64_t hash);

  bool exact() const { return shift_ == 0; }
  std::uint64_t distinct() const { return static_cast<std::uint64_t>(kept_) << shift_; }
  std::uint64_t repeated() const { return repeated_ << shift_; }  // Texts that were there before.

 private:
  struct Place {
    std::uint64_t hash = 0;
    std::uint64_t count = 0;  // 0: free.
  };

  bool is_chosen(std::uint64_t hash) const { return (hash & ((std::uint64_t{1} << shift_) - 1)) == 0; }
  Place& find(std::uint64_t hash);
  void rebuild(std::size_t size);

  std::size_t max_kept_;
  unsigned shift_ = 0;  // One text of 2^shift is kept.
  std::vector<Place> places_;
  std::size_t kept_ = 0;
  std::uint64_t repeated_ = 0;
};

}  // namespace semfuse
