// The feature rows of a model's tokens, whatever its bank and its tokenizer: those of whole texts, as training reads
// them, and of a text that grows token by token.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "features/natural_bank.h"
#include "features/sentence_cursor.h"
#include "semfuse/tokenizer.h"

namespace semfuse {

// Refers to bank and vocabulary, which must outlive it. Safe to share between threads.
class TokenFeatures {
 public:
  // Without a tokenizer each token is a word by itself.
  TokenFeatures(const FeatureBank& bank, const Vocabulary& vocabulary, const Tokenizer* tokenizer = nullptr);

  const std::vector<std::string>& names() const { return bank_->names(); }
  std::size_t size() const { return bank_->size(); }
  // Whether a row may change with what follows its token: the paper's bank is so made.
  bool looks_ahead() const { return bank_->options().bank == FeatureSet::paper; }

  // Rows for <bos>, the tokens, <eos>.
  FeatureMatrix text_rows(std::span<const TokenId> ids) const;
  // Of a text that goes on: rows for <bos> and the tokens.
  FeatureMatrix prefix_rows(std::span<const TokenId> ids) const;

 private:
  friend class TokenCursor;
  Sentence words_of(std::span<const TokenId> ids) const;
  TokenText text_of(TokenId id) const {
    const auto i = static_cast<std::size_t>(id);
    return {vocabulary_->entries()[i], static_cast<bool>(ends_word_[i])};
  }

  const FeatureBank* bank_;
  const NaturalBank* natural_;  // Null: words of a sentence.
  const Vocabulary* vocabulary_;
  std::vector<char> ends_word_;  // By id, of natural text: TokenText::ends_word.
  // Likewise: a word that ends in n, which the "'t" after it makes part of another ("did" and "n't").
  std::vector<char> ends_in_n_;
  std::optional<TokenId> negation_;  // That "'t".
  // Likewise, of a word tokenizer: bytes that spell words without an entry, and words of one letter.
  enum class Spelling : char { none, inside, letter };  // A letter (or digit) may be a word by itself: "I".
  std::vector<Spelling> spelling_;
};

// The rows of a text that grows, one a token at the same cost wherever it stands; those of prefix_rows(), bit by bit.
// Only where none looks ahead. Refers to the features. Copyable: a copy goes on by itself.
class TokenCursor {
 public:
  explicit TokenCursor(const TokenFeatures& features);

  // The row of what came last, which as constructed is <bos>. Valid until the next call.
  std::span<const float> row() const { return natural_ ? natural_->row() : sentence_->row(); }
  std::span<const float> append(TokenId id);
  // The row of <eos>, the end of the text: that of text_rows(). Of natural text only.
  std::span<const float> end() { return natural_->end(); }

 private:
  const TokenFeatures* features_;
  std::optional<FeatureCursor> natural_;
  std::optional<FeatureCursor> before_n_;       // As it was before the last token, if that ends in n,
  std::optional<FeatureCursor> before_letter_;  // or if that is a letter that begins a word, and so may be all of it.
  bool in_spelled_word_ = false;
  TokenId last_ = 0;
  std::optional<SentenceCursor> sentence_;
};

}  // namespace semfuse
