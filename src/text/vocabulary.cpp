#include "semfuse/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/nearest_word.h"
#include "semfuse/error.h"
#include "text/tokenizer_parts.h"

namespace semfuse {
Vocabulary Vocabulary::from_words(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  words.insert(words.begin(), kSpecials.begin(), kSpecials.end());
  return Vocabulary(std::move(words));
}

Vocabulary::Vocabulary(std::vector<std::string> entries) : entries_(std::move(entries)) {
  if (entries_.size() < kSpecials.size() || !std::equal(kSpecials.begin(), kSpecials.end(), entries_.begin())) {
    throw Error("vocabulary: the first three entries must be <pad>, <bos>, <eos>, in this order");
  }
  ids_.reserve(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].empty()) throw Error(fmt::format("vocabulary: entry {} is empty; remove it", i));
    const auto [first, added] = ids_.emplace(entries_[i], static_cast<TokenId>(i));
    if (!added) {
      throw Error(fmt::format("vocabulary: entry {} \"{}\" appears twice (first as entry {}); remove one", i,
                              entries_[i], first->second));
    }
  }
}

std::optional<TokenId> Vocabulary::find(std::string_view word) const {
  const auto found = ids_.find(std::string(word));
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::vector<TokenId> Vocabulary::encode(const Sentence& sentence) const {
  std::vector<TokenId> ids;
  ids.reserve(sentence.size() + 2);
  ids.push_back(kBos);
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    const std::optional<TokenId> id = find(sentence[i]);
    if (!id) {
      const auto words = std::span(entries_).subspan(kSpecials.size());
      throw Error(fmt::format("word {} \"{}\" is not in the vocabulary{}", i + 1, sentence[i],
                              did_you_mean(sentence[i], words)));
    }
    // Otherwise a prompt could end or pad a sentence from within.
    if (*id <= kEos) {
      throw Error(fmt::format("word {} \"{}\" is a special entry, which no sentence may contain; remove it", i + 1,
                              sentence[i]));
    }
    ids.push_back(*id);
  }
  ids.push_back(kEos);
  return ids;
}

}  // namespace semfuse
