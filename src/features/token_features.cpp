#include "features/token_features.h"

#include <cassert>

#include "features/feature_bank_access.h"

namespace semfuse {
namespace {

// Does nothing that may follow the token belong to its last word? Of a word tokenizer's words it is so, but for what is
// spelled in bytes, where it is known of a mark only: marks are cut apart from letters. An apostrophe may go on ('s).
bool ends_word(const Tokenizer& tokenizer, std::size_t id) {
  if (tokenizer.kind() != TokenizerKind::words || id < static_cast<std::size_t>(Tokenizer::kFirstByte)) return false;
  if (id >= Tokenizer::kSmallestSize) return true;
  const char c = tokenizer.surfaces()[id][0];
  return c > ' ' && c < 0x7F && c != '\'' && WordScanner::is_mark({&c, 1});
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

TokenFeatures::TokenFeatures(const FeatureBank& bank, const Vocabulary& vocabulary, const Tokenizer* tokenizer)
    : bank_(&bank), natural_(FeatureBankAccess::natural(bank)), vocabulary_(&vocabulary) {
  if (natural_ == nullptr) return;
  ends_word_.assign(vocabulary.size(), true);
  if (tokenizer == nullptr) return;
  ends_in_n_.assign(vocabulary.size(), false);
  spelling_.assign(vocabulary.size(), Spelling::none);
  for (std::size_t id = 0; id < ends_word_.size(); ++id) {
    const std::string& bytes = tokenizer->surfaces()[id];
    ends_word_[id] = ends_word(*tokenizer, id);
    ends_in_n_[id] = ends_word_[id] != 0 && (bytes.ends_with('n') || bytes.ends_with('N'));
    if (ends_word_[id] != 0 && bytes == "'t") negation_ = static_cast<TokenId>(id);
    const bool is_byte = id >= static_cast<std::size_t>(Tokenizer::kFirstByte) && id < Tokenizer::kSmallestSize;
    if (tokenizer->kind() != TokenizerKind::words || !is_byte || ends_word_[id] != 0) continue;
    const auto byte = static_cast<unsigned char>(bytes[0]);
    if (byte > ' ') spelling_[id] = is_letter_or_digit(bytes[0]) ? Spelling::letter : Spelling::inside;
  }
}

Sentence TokenFeatures::words_of(std::span<const TokenId> ids) const {
  Sentence words;
  for (const TokenId id : ids) words.push_back(vocabulary_->word(id));
  return words;
}

FeatureMatrix TokenFeatures::text_rows(std::span<const TokenId> ids) const {
  if (natural_ == nullptr) return bank_->rows(words_of(ids));
  FeatureMatrix matrix = {.num_rows = ids.size() + 2, .num_features = size(), .values = {}};
  matrix.values.reserve(matrix.num_rows * matrix.num_features);
  const auto add = [&](std::span<const float> row) {
    matrix.values.insert(matrix.values.end(), row.begin(), row.end());
  };
  TokenCursor cursor(*this);
  add(cursor.row());
  for (const TokenId id : ids) add(cursor.append(id));
  add(cursor.end());
  return matrix;
}

FeatureMatrix TokenFeatures::prefix_rows(std::span<const TokenId> ids) const {
  if (natural_ == nullptr) return bank_->prefix_rows(words_of(ids));
  FeatureMatrix matrix = text_rows(ids);
  --matrix.num_rows;  // <eos>
  matrix.values.resize(matrix.num_rows * matrix.num_features);
  return matrix;
}

TokenCursor::TokenCursor(const TokenFeatures& features) : features_(&features) {
  assert(!features.looks_ahead());
  if (features.natural_ != nullptr) {
    natural_.emplace(features, FeatureCursor(*features.natural_));
  } else {
    sentence_.emplace(*features.bank_);
  }
}

std::span<const float> TokenCursor::append(TokenId id) {
  return natural_ ? natural_->append(id) : sentence_->append(features_->vocabulary_->word(id));
}

}  // namespace semfuse
