// The words a model knows, each with its id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "semfuse/corpus.h"

namespace semfuse {

using TokenId = std::int32_t;

// Maps words to ids and back. Immutable, so safe to share between threads.
class Vocabulary {
 public:
  static constexpr TokenId kPad = 0;
  static constexpr TokenId kBos = 1;
  static constexpr TokenId kEos = 2;

  // <pad>, <bos>, <eos>, then the words, sorted and each once.
  static Vocabulary from_words(std::vector<std::string> words);

  // Entries in id order, as stored in a checkpoint. Throws Error if the three special entries do not come first or an
  // entry is empty or appears twice.
  explicit Vocabulary(std::vector<std::string> entries);

  std::size_t size() const { return entries_.size(); }
  const std::vector<std::string>& entries() const { return entries_; }
  const std::string& word(TokenId id) const { return entries_.at(static_cast<std::size_t>(id)); }
  std::optional<TokenId> find(std::string_view word) const;

  // Ids of <bos>, the words, <eos>. Throws Error that names the first unknown word, its position (from 1) and the
  // nearest known word if one is close. The special entries are not words: a sentence that contains one throws too.
  std::vector<TokenId> encode(const Sentence& sentence) const;

 private:
  std::vector<std::string> entries_;
  std::unordered_map<std::string, TokenId> ids_;
};

}  // namespace semfuse
