// Remembers what words were cut into.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "semfuse/vocabulary.h"

namespace semfuse {

// A piece of a word: the token and the number of its bytes.
struct Piece {
  TokenId id = 0;
  std::uint32_t length = 0;
};

// Threads share it without waiting: a place is filled once and never changes. At some point it is full and stays as it
// is, which serves because frequent words come early. At most a few MB.
class WordCache {
 public:
  WordCache();
  ~WordCache();
  WordCache(const WordCache&) = delete;
  WordCache& operator=(const WordCache&) = delete;

  // The pieces of the word, at least one; none if the word is not there. Valid as long as the cache.
  std::span<const Piece> find(std::string_view word, std::uint64_t hash) const;
  // Does nothing if there is no room or the word is long.
  void insert(std::string_view word, std::uint64_t hash, std::span<const Piece> pieces);

 private:
  struct Entry;
  std::vector<std::atomic<const Entry*>> places_;
  std::atomic<std::size_t> num_entries_ = 0;
};

}  // namespace semfuse
