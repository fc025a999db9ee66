#include "data/text_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/text_hash.h"
#include "semfuse/error.h"

namespace semfuse {

TextEncoder::TextEncoder(Tokenizer tokenizer, TextEncoderOptions options)
    : tokenizer_(std::move(tokenizer)), options_(std::move(options)) {
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
}

bool TextEncoder::read_labels(const Record& record, const RecordReader& reader, std::vector<KnobLabel>& labels) const {
  labels.clear();
  const Sentence words = reads_words_ ? split_words(record.text) : Sentence();
  for (std::size_t k = 0; k < options_.knobs.size(); ++k) {
    const Knob& knob = options_.knobs[k];
    if (!knob.of_column) {
      labels.push_back(read_label(knob, words, options_.lexicon));
      continue;
    }
    try {
      labels.push_back(read_cell(knob, record.cells[column_of_[k]].text));
    } catch (const Error& error) {
      if (options_.skip_bad) return false;
      throw Error(fmt::format("{}: {}, or leave out such rows with --skip-bad", reader.place(record), error.what()));
    }
  }
  return true;
}

void TextEncoder::add(std::span<const Token> tokens, std::span<const KnobLabel> labels,
                      ColumnWriter::Block& block) const {
  // <bos>, the tokens, <eos> are `entries` ids; each sequence but the first begins with the last id of the one before.
  const std::size_t entries = tokens.size() + 2;
  const std::size_t longest = options_.max_length;
  for (std::size_t first = 0; first + 1 < entries; first += longest - 1) {
    const std::size_t end = std::min(entries, first + longest);
    for (std::size_t e = first; e < end; ++e) {
      block.ids.push_back(e == 0 ? Vocabulary::kBos : e + 1 == entries ? Vocabulary::kEos : tokens[e - 1].id);
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
  std::vector<Token> tokens;
  std::vector<KnobLabel> labels;
  for (const Record& record : block.records) {
    if (!read_labels(record, reader, labels)) {
      ++result.bad;
      continue;
    }
    tokenizer_.encode(record.text, tokens);
    const bool is_val = is_validation_text(record.text, options_.val_share);
    add(tokens, labels, is_val ? result.val : result.train);
    ++(is_val ? result.val_texts : result.train_texts);
    if (tokens.size() + 2 > options_.max_length) ++result.long_texts;
  }
  return result;
}

}  // namespace semfuse
