#include "semfuse/tokenizer_trainer.h"

#include <fmt/format.h>

#include <utility>

#include "semfuse/error.h"
#include "text/piece_trainer.h"
#include "text/tokenizer_state.h"
#include "text/word_counts.h"
#include "text/word_splitter.h"

namespace semfuse {
namespace {

constexpr std::size_t kLongestWord = 256;
constexpr std::uint64_t kFewestWords = 2;  // A word that occurs once is better learned byte by byte.

TokenizerParts frequent_words(const WordCounts& counts, std::size_t size) {
  TokenizerParts parts = TokenizerParts::of_bytes();
  parts.kind = TokenizerKind::words;
  for (const CountedWord* word : counts.sorted()) {
    if (parts.surfaces.size() == size || word->count < kFewestWords) break;
    if (word->word.size() > 1) parts.surfaces.push_back(word->word);
  }
  return parts;
}

}  // namespace

struct TokenizerTrainer::State {
  WordCounts counts;
  bool leading_blank;
};

TokenizerTrainer::TokenizerTrainer(std::size_t max_words, bool leading_blank)
    : state_(std::make_unique<State>(State{.counts = WordCounts(max_words), .leading_blank = leading_blank})) {}

TokenizerTrainer::TokenizerTrainer(TokenizerTrainer&&) noexcept = default;
TokenizerTrainer& TokenizerTrainer::operator=(TokenizerTrainer&&) noexcept = default;
TokenizerTrainer::~TokenizerTrainer() = default;

void TokenizerTrainer::add(std::string_view text) {
  if (state_->leading_blank && !text.empty()) {
    const std::size_t length = first_word_length_after_blank(text);
    if (length < kLongestWord) state_->counts.add(std::string(" ").append(text.substr(0, length)));
    text.remove_prefix(length);
  }
  while (!text.empty()) {
    const std::size_t length = first_word_length(text);
    if (length <= kLongestWord) state_->counts.add(text.substr(0, length));
    text.remove_prefix(length);
  }
}

void TokenizerTrainer::add(const TokenizerTrainer& other) {
  for (const auto& [word, count] : other.state_->counts.words()) state_->counts.add(word, count);
}

Tokenizer TokenizerTrainer::make(TokenizerKind kind, std::size_t size) const {
  if (size < Tokenizer::kSmallestSize || size > kMaxTokenizerSize) {
    throw Error(fmt::format("a vocabulary of {} entries cannot be made; choose {} (the bytes alone) to {}", size,
                            Tokenizer::kSmallestSize, kMaxTokenizerSize));
  }
  if (kind == TokenizerKind::bytes) return Tokenizer::bytes();
  TokenizerParts parts =
      kind == TokenizerKind::words ? frequent_words(state_->counts, size) : train_pieces(state_->counts.words(), size);
  parts.leading_blank = state_->leading_blank && parts.kind != TokenizerKind::bytes;
  return Tokenizer(std::make_shared<const Tokenizer::State>(std::move(parts)));
}

}  // namespace semfuse
