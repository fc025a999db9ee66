#include "data/text_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/text_hash.h"
#include "semfuse/error.h"

namespace semfuse {

TextEncoder::TextEncoder(Tokenizer tokenizer, TextEncoderOptions options)
    : tokenizer_(std::move(tokenizer)), vocabulary_(tokenizer_.vocabulary()), options_(std::move(options)) {
  if (options_.bank != nullptr && options_.bank->size() > 0) {
    features_.emplace(*options_.bank, vocabulary_, &tokenizer_);
  }
  for (const Knob& knob : options_.knobs) {
    if (!knob.of_column) {
      reads_words_ = true;
      column_of_.push_back(0);
      continue;
    }
    const auto found = std::ranges::find(columns_, knob.source);
    column_of_.push_back(static_cast<std::size_t>(found - columns_.begin()));
    if (found == columns_.end()) columns_.push_back(knob.source);
  }
  if (reads_words_ && options_.bank != nullptr) text_labels_.emplace(options_.knobs, *options_.bank);
}

bool TextEncoder::read_labels(const Record& record, const RecordReader& reader, std::vector<KnobLabel>& labels) const {
  labels.assign(options_.knobs.size(), {});
  if (text_labels_) text_labels_->read(record.text, labels);
  const Sentence words = reads_words_ && !text_labels_ ? split_words(record.text) : Sentence();
  for (std::size_t k = 0; k < options_.knobs.size(); ++k) {
    const Knob& knob = options_.knobs[k];
    if (!knob.of_column) {
      if (!text_labels_) labels[k] = read_label(knob, words, options_.lexicon);
      continue;
    }
    try {
      labels[k] = read_cell(knob, record.cells[column_of_[k]].text);
    } catch (const Error& error) {
      if (options_.skip_bad) return false;
      throw Error(fmt::format("{}: {}, or leave out such rows with --skip-bad", reader.place(record), error.what()));
    }
  }
  return true;
}

void TextEncoder::read_rows(std::span<const Token> tokens, std::size_t count, RowBlock& rows) const {
  rows.row_of.clear();
  const auto add_row = [&](std::span<const float> row) {
    const std::string_view bytes(reinterpret_cast<const char*>(row.data()), row.size_bytes());
    auto found = rows.places.find(bytes);
    if (found == rows.places.end()) {
      found = rows.places.emplace(bytes, static_cast<std::uint32_t>(rows.places.size())).first;
      rows.block.rows.insert(rows.block.rows.end(), row.begin(), row.end());
    }
    rows.row_of.push_back(found->second);
  };
  if (options_.bank->options().bank != FeatureSet::natural) {
    std::vector<TokenId> ids;
    for (const Token& token : tokens) ids.push_back(token.id);
    const FeatureMatrix matrix = features_->text_rows(ids);
    for (std::size_t t = 0; t < count; ++t) add_row({matrix.row(t), matrix.num_features});
    return;
  }
  TokenCursor cursor(*features_);
  add_row(cursor.row());
  for (std::size_t t = 0; t < tokens.size() && rows.row_of.size() < count; ++t) add_row(cursor.append(tokens[t].id));
  if (rows.row_of.size() < count) add_row(cursor.end());
}

void TextEncoder::add(std::span<const Token> tokens, std::span<const KnobLabel> labels, RowBlock& rows) const {
  ColumnWriter::Block& block = rows.block;
  // <bos>, the tokens, <eos> are `entries` ids; each sequence but the first begins with the last id of the one before.
  const std::size_t entries = tokens.size() + 2;
  const std::size_t longest = options_.max_length;
  if (features_) read_rows(tokens, options_.cut ? std::min(entries, longest) : entries, rows);
  for (std::size_t first = 0; first + 1 < entries; first += longest - 1) {
    const std::size_t end = std::min(entries, first + longest);
    for (std::size_t e = first; e < end; ++e) {
      block.ids.push_back(e == 0 ? Vocabulary::kBos : e + 1 == entries ? Vocabulary::kEos : tokens[e - 1].id);
      if (features_) block.row_of.push_back(rows.row_of[e]);
    }
    block.lengths.push_back(end - first);
    block.labels.insert(block.labels.end(), labels.begin(), labels.end());
    if (end == entries) {
      block.bytes += (tokens.empty() ? 0 : tokens.back().end) + 1;
    } else if (options_.cut) {
      block.bytes += tokens[end - 2].end;
      return;
    }
  }
}

EncodedBlock TextEncoder::encode(const RecordBlock& block, const RecordReader& reader) const {
  EncodedBlock result;
  RowBlock train{.block = result.train}, val{.block = result.val}, held_out{.block = result.held_out};
  std::vector<Token> tokens;
  std::vector<KnobLabel> labels;
  for (const Record& record : block.records) {
    if (!read_labels(record, reader, labels)) {
      ++result.bad;
      continue;
    }
    tokenizer_.encode(record.text, tokens);
    const bool is_held_out = options_.held_out != nullptr && options_.held_out->are_in(record.text);
    const bool is_val = is_validation_text(record.text, options_.val_share);
    add(tokens, labels, is_held_out ? held_out : is_val ? val : train);
    ++(is_held_out ? result.held_out_texts : is_val ? result.val_texts : result.train_texts);
    if (tokens.size() + 2 > options_.max_length) ++result.long_texts;
  }
  return result;
}

}  // namespace semfuse
