// A mask as it is kept: most hold few tokens, or few words that are not zero.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/arena.h"
#include "grammar/draft_mask.h"
#include "semfuse/grammar.h"

namespace semfuse {

// The words of a set, as GrammarCursor::fill() has them: as many as the vocabulary needs.
void write_words(const TokenSet& set, std::span<std::int32_t> words);

// A set of tokens that never changes.
class StoredMask {
 public:
  // Tokens 32 * place ... 32 * place + 31, a bit each; not zero.
  struct Part {
    std::uint32_t place;
    std::uint32_t bits;
    bool operator==(const Part&) const = default;
  };

  // Of parts that ascend and live as long as the mask, or of a whole set.
  explicit StoredMask(std::span<const Part> parts) : parts_(parts) {}
  explicit StoredMask(const TokenSet& set) : set_(std::make_unique<const TokenSet>(set)) {}

  const TokenSet* set() const { return set_.get(); }  // Null if it is kept in parts.
  std::span<const Part> parts() const { return parts_; }
  std::optional<TokenId> only() const;  // The token, if there is just one.

  // The same for all words of the mask.
  void write(std::span<std::int32_t> words) const;
  // Writes the set, which has the size of the vocabulary.
  void write(TokenSet& set) const;

 private:
  std::unique_ptr<const TokenSet> set_;
  std::span<const Part> parts_;
};

// Masks, each kept once. References stay valid as long as the object.
class StoredMasks {
 public:
  const StoredMask& store(const DraftMask& draft);
  std::size_t memory() const { return memory_; }  // Bytes, about.

 private:
  template <typename Same, typename Make>
  const StoredMask& find(std::uint64_t hash, Same same, Make make);

  Arena arena_;
  std::unordered_multimap<std::uint64_t, StoredMask> by_hash_;
  std::vector<StoredMask::Part> parts_;  // Of the mask that is stored now.
  std::size_t memory_ = 0;
};

}  // namespace semfuse
