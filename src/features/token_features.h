// The feature rows of a model's tokens, whatever its bank and its tokenizer: those of whole texts, as training reads
// them, and of a text that grows token by token.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
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
  const NaturalBank* natural() const { return natural_; }  // Null: words of a sentence.

  // Rows for <bos>, the tokens, <eos>.
  FeatureMatrix text_rows(std::span<const TokenId> ids) const;
  // Of a text that goes on: rows for <bos> and the tokens.
  FeatureMatrix prefix_rows(std::span<const TokenId> ids) const;

 private:
  friend class TokenCursor;
  template <class Cursor>
  friend class NaturalTokens;
  Sentence words_of(std::span<const TokenId> ids) const;
  TokenText text_of(TokenId id) const {
    const auto i = static_cast<std::size_t>(id);
    return {vocabulary_->entries()[i], static_cast<bool>(ends_word_[i]), id};
  }

  const FeatureBank* bank_;
  const NaturalBank* natural_;
  const Vocabulary* vocabulary_;
  std::vector<char> ends_word_;  // By id, of natural text: TokenText::ends_word.
  // Likewise: a word that ends in n, which the "'t" after it makes part of another ("did" and "n't").
  std::vector<char> ends_in_n_;
  std::optional<TokenId> negation_;  // That "'t".
  // Likewise, of a word tokenizer: bytes that spell words without an entry, and words of one letter.
  enum class Spelling : char { none, inside, letter };  // A letter (or digit) may be a word by itself: "I".
  std::vector<Spelling> spelling_;
};

// The tokens of natural text as what they are to a cursor, which is a FeatureCursor or one that does the same: what is
// spelled in bytes, and "didn" before "'t", turns out only later. Refers to the features. Copyable.
template <class Cursor>
class NaturalTokens {
 public:
  NaturalTokens(const TokenFeatures& features, Cursor cursor) : features_(&features), cursor_(std::move(cursor)) {}

  Cursor& cursor() { return cursor_; }
  const Cursor& cursor() const { return cursor_; }
  // What the cursor's append() returns.
  auto append(TokenId id);

 private:
  const TokenFeatures* features_;
  Cursor cursor_;
  std::optional<Cursor> before_n_;       // As it was before the last token, if that ends in n,
  std::optional<Cursor> before_letter_;  // or if that is a letter that begins a word, and so may be all of it.
  bool in_spelled_word_ = false;
  TokenId last_ = 0;
};

// The rows of a text that grows, one a token at the same cost wherever it stands; those of prefix_rows(), bit by bit.
// Only where none looks ahead. Refers to the features. Copyable: a copy goes on by itself.
class TokenCursor {
 public:
  explicit TokenCursor(const TokenFeatures& features);

  // The row of what came last, which as constructed is <bos>. Valid until the next call.
  std::span<const float> row() const { return natural_ ? natural_->cursor().row() : sentence_->row(); }
  std::span<const float> append(TokenId id);
  // The row of <eos>, the end of the text: that of text_rows(). Of natural text only.
  std::span<const float> end() { return natural_->cursor().end(); }

 private:
  const TokenFeatures* features_;
  std::optional<NaturalTokens<FeatureCursor>> natural_;
  std::optional<SentenceCursor> sentence_;
};

template <class Cursor>
auto NaturalTokens<Cursor>::append(TokenId id) {
  using Spelling = TokenFeatures::Spelling;
  const TokenFeatures& features = *features_;
  const auto place = static_cast<std::size_t>(id);
  const Spelling spelling = features.spelling_.empty() ? Spelling::none : features.spelling_[place];
  if (before_letter_ && spelling != Spelling::none) {  // The letter was only the first of its word.
    cursor_ = std::move(*before_letter_);
    cursor_.append({features.vocabulary_->word(last_), false});
    in_spelled_word_ = true;
  }
  before_letter_.reset();
  if (spelling == Spelling::letter && !in_spelled_word_) {
    before_letter_ = cursor_;
    before_n_.reset();
    last_ = id;
    return cursor_.append({features.vocabulary_->word(id), true});
  }
  in_spelled_word_ = spelling != Spelling::none;
  if (before_n_ && features.negation_ == id) {
    cursor_ = std::move(*before_n_);
    before_n_.reset();
    const std::string joined = features.vocabulary_->word(last_) + features.vocabulary_->word(id);
    return cursor_.append({joined, true});
  }
  before_n_.reset();
  if (features.negation_ && features.ends_in_n_[place] != 0) before_n_ = cursor_;
  last_ = id;
  return cursor_.append(features.text_of(id));
}

}  // namespace semfuse
