#include "data/text_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "data/text_hash.h"
#include "features/feature_bank_access.h"
#include "semfuse/error.h"

namespace semfuse {

// A memory of rows that this thread works with, if there are rows of natural text; those before it left it warm.
class TextEncoder::BorrowedMemory {
 public:
  explicit BorrowedMemory(const TextEncoder& encoder) : encoder_(encoder) {
    if (encoder.natural_ == nullptr) return;
    {
      const std::lock_guard lock(encoder.mutex_);
      if (!encoder.memories_.empty()) {
        memory_ = std::move(encoder.memories_.back());
        encoder.memories_.pop_back();
      }
    }
    if (!memory_) memory_ = std::make_unique<RowMemory>(*encoder.natural_);
  }
  ~BorrowedMemory() {
    if (!memory_) return;
    const std::lock_guard lock(encoder_.mutex_);
    encoder_.memories_.push_back(std::move(memory_));
  }
  BorrowedMemory(const BorrowedMemory&) = delete;
  BorrowedMemory& operator=(const BorrowedMemory&) = delete;

  RowMemory* get() const { return memory_.get(); }

 private:
  const TextEncoder& encoder_;
  std::unique_ptr<RowMemory> memory_;
};

TextEncoder::TextEncoder(Tokenizer tokenizer, TextEncoderOptions options)
    : tokenizer_(std::move(tokenizer)),
      vocabulary_(options.vocabulary ? *std::move(options.vocabulary) : tokenizer_.vocabulary()),
      options_(std::move(options)) {
  if (options_.bank != nullptr && options_.feature_rows && options_.bank->size() > 0) {
    features_.emplace(*options_.bank, vocabulary_, &tokenizer_);
  }
  bool reads_words = false;
  for (const Knob& knob : options_.knobs) {
    if (!knob.of_column) {
      reads_words = true;
      column_of_.push_back(0);
      continue;
    }
    const auto found = std::ranges::find(columns_, knob.source);
    column_of_.push_back(static_cast<std::size_t>(found - columns_.begin()));
    if (found == columns_.end()) columns_.push_back(knob.source);
  }
  assert(!reads_words || options_.bank != nullptr);
  if (reads_words) text_labels_.emplace(options_.knobs, *options_.bank);
  if (features_ || text_labels_) natural_ = FeatureBankAccess::natural(*options_.bank);
}

bool TextEncoder::read_labels(const Record& record, const RecordReader& reader, RowMemory* memory,
                              std::vector<KnobLabel>& labels) const {
  labels.assign(options_.knobs.size(), {});
  if (text_labels_) text_labels_->read(record.text, labels, memory);
  for (std::size_t k = 0; k < options_.knobs.size(); ++k) {
    const Knob& knob = options_.knobs[k];
    if (!knob.of_column) continue;
    try {
      labels[k] = read_cell(knob, record.cells[column_of_[k]].text);
    } catch (const Error& error) {
      if (options_.skip_bad) return false;
      throw Error(fmt::format("{}: {}, or leave out such rows with --skip-bad", reader.place(record), error.what()));
    }
  }
  return true;
}

void TextEncoder::RowBlock::add_row(std::span<const float> row) {
  const std::string_view bytes(reinterpret_cast<const char*>(row.data()), row.size_bytes());
  auto found = places.find(bytes);
  if (found == places.end()) {
    found = places.emplace(bytes, static_cast<std::uint32_t>(places.size())).first;
    block.rows.insert(block.rows.end(), row.begin(), row.end());
  }
  row_of.push_back(found->second);
}

void TextEncoder::RowBlock::add_row(std::uint32_t number, const RowMemory& memory) {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  if (generation != memory.generation()) place_of.clear();
  generation = memory.generation();
  if (number >= place_of.size()) place_of.resize(number + 1, kNone);
  if (place_of[number] != kNone) {
    row_of.push_back(place_of[number]);
  } else {
    add_row(memory.row(number));
    place_of[number] = row_of.back();
  }
}

void TextEncoder::read_rows(std::span<const Token> tokens, std::size_t count, RowMemory* memory, RowBlock& rows) const {
  rows.row_of.clear();
  if (memory == nullptr) {
    std::vector<TokenId> ids;
    for (const Token& token : tokens) ids.push_back(token.id);
    const FeatureMatrix matrix = features_->text_rows(ids);
    for (std::size_t t = 0; t < count; ++t) rows.add_row({matrix.row(t), matrix.num_features});
    return;
  }
  memory->begin_text();
  NaturalTokens<RememberedCursor> natural(*features_, RememberedCursor(*memory));
  rows.add_row(natural.cursor().row(), *memory);
  for (std::size_t t = 0; t < tokens.size() && rows.row_of.size() < count; ++t) {
    rows.add_row(natural.append(tokens[t].id), *memory);
  }
  if (rows.row_of.size() < count) rows.add_row(natural.cursor().end(), *memory);
}

bool TextEncoder::is_labelled(std::span<const KnobLabel> labels) const {
  for (std::size_t k = 0; k < labels.size(); ++k) {
    const KnobLabel& label = labels[k];
    if (options_.knobs[k].of_column && (label.positive + label.negative > 0 || label.value || label.label)) return true;
  }
  return false;
}

void TextEncoder::add(std::span<const Token> tokens, std::span<const KnobLabel> labels, std::span<const float> soft,
                      RowMemory* memory, RowBlock& rows) const {
  ColumnWriter::Block& block = rows.block;
  // <bos>, the tokens, <eos> are `entries` ids; each sequence but the first begins with the last id of the one before.
  const std::size_t entries = tokens.size() + 2;
  const std::size_t longest = options_.max_length;
  if (features_) read_rows(tokens, options_.cut ? std::min(entries, longest) : entries, memory, rows);
  for (std::size_t first = 0; first + 1 < entries; first += longest - 1) {
    const std::size_t end = std::min(entries, first + longest);
    for (std::size_t e = first; e < end; ++e) {
      block.ids.push_back(e == 0 ? Vocabulary::kBos : e + 1 == entries ? Vocabulary::kEos : tokens[e - 1].id);
      if (features_) block.row_of.push_back(rows.row_of[e]);
    }
    block.lengths.push_back(end - first);
    block.labels.insert(block.labels.end(), labels.begin(), labels.end());
    block.soft.insert(block.soft.end(), soft.begin(), soft.end());
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
  const BorrowedMemory memory(*this);
  std::vector<Token> tokens;
  std::vector<KnobLabel> labels;
  const std::vector<SoftColumns> columns = soft_columns(options_.knobs);
  std::vector<float> soft(options_.soft_labels && !columns.empty() ? columns.back().first + columns.back().count : 0);
  for (const Record& record : block.records) {
    if (!read_labels(record, reader, memory.get(), labels)) {
      ++result.bad;
      continue;
    }
    tokenizer_.encode(record.text, tokens);
    const bool is_held_out = options_.held_out != nullptr && options_.held_out->are_in(record.text);
    const bool is_val = is_validation_text(record.text, options_.val_share);
    if (!is_held_out && !is_val && is_judge_text(record.text, options_.judge_share) && is_labelled(labels)) {
      ++result.judge_texts;
      continue;
    }
    if (!soft.empty()) options_.soft_labels(record.text, soft);
    add(tokens, labels, soft, memory.get(), is_held_out ? held_out : is_val ? val : train);
    ++(is_held_out ? result.held_out_texts : is_val ? result.val_texts : result.train_texts);
    if (tokens.size() + 2 > options_.max_length) ++result.long_texts;
  }
  return result;
}

}  // namespace semfuse
