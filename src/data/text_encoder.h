// Records of files as the texts of a dataset: ids, feature rows, labels, and pieces of what is too long.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "data/column_dataset.h"
#include "data/held_out_words.h"
#include "data/record_reader.h"
#include "features/text_labels.h"
#include "features/token_features.h"
#include "semfuse/feature_bank.h"
#include "semfuse/tokenizer.h"

namespace semfuse {

// Writes how probable each value of the labels of columns is, as soft_columns() places them. Called by several threads.
using SoftLabels = std::function<void(std::string_view text, std::span<float> values)>;

struct TextEncoderOptions {
  std::optional<Vocabulary> vocabulary = std::nullopt;  // Of a tokenizer that cannot say its own: an imported one.
  std::size_t max_length = 128;
  bool cut = false;
  bool skip_bad = false;
  double val_share = 0.0;    // Of the texts, by their hash.
  double judge_share = 0.0;  // Of the texts with a label of a column, by another hash: left out, for judges.
  std::vector<Knob> knobs;
  SoftLabels soft_labels = {};             // Empty: texts have none.
  const FeatureBank* bank = nullptr;       // Reads knobs of the text; null if there are none. Must outlive the encoder.
  bool feature_rows = true;                // Those of the bank are made, if it has any.
  const HeldOutWords* held_out = nullptr;  // Texts with these are apart; null: none. Must outlive the encoder.
};

// What became of a block of records.
struct EncodedBlock {
  ColumnWriter::Block train;
  ColumnWriter::Block val;
  ColumnWriter::Block held_out;
  std::uint64_t held_out_texts = 0;
  std::uint64_t judge_texts = 0;
  std::uint64_t train_texts = 0;
  std::uint64_t val_texts = 0;
  std::uint64_t long_texts = 0;
  std::uint64_t bad = 0;
};

// Immutable, so safe to share between threads.
class TextEncoder {
 public:
  TextEncoder(Tokenizer tokenizer, TextEncoderOptions options);
  TextEncoder(const TextEncoder&) = delete;
  TextEncoder& operator=(const TextEncoder&) = delete;

  // The columns that a reader must give each record's cells for, in this order.
  const std::vector<std::string>& columns() const { return columns_; }

  // Throws Error that begins with the record's place for a label that is out of range or unknown, unless skip_bad.
  EncodedBlock encode(const RecordBlock& block, const RecordReader& reader) const;

 private:
  class BorrowedMemory;
  bool read_labels(const Record& record, const RecordReader& reader, RowMemory* memory,
                   std::vector<KnobLabel>& labels) const;
  // A block in the making, with what it knows of its rows.
  struct RowBlock {
    ColumnWriter::Block& block;
    TextMap<std::uint32_t> places = {};  // Of its rows, by their bytes.
    std::vector<std::uint32_t> row_of = {};
    std::vector<std::uint32_t> place_of = {};  // Of rows by their number in a memory,
    std::uint64_t generation = 0;              // as long as it is of this one.

    void add_row(std::span<const float> row);
    void add_row(std::uint32_t number, const RowMemory& memory);
  };
  // Sets row_of: the places of the rows of <bos>, the tokens, <eos>, or of the first `count` of them.
  void read_rows(std::span<const Token> tokens, std::size_t count, RowMemory* memory, RowBlock& rows) const;
  void add(std::span<const Token> tokens, std::span<const KnobLabel> labels, std::span<const float> soft,
           RowMemory* memory, RowBlock& rows) const;
  // Does a column say something of the text?
  bool is_labelled(std::span<const KnobLabel> labels) const;

  Tokenizer tokenizer_;
  Vocabulary vocabulary_;
  TextEncoderOptions options_;
  std::vector<std::string> columns_;
  std::vector<std::size_t> column_of_;  // For each knob that is of one, its place in columns_.
  std::optional<TokenFeatures> features_;
  std::optional<TextLabels> text_labels_;  // If some knob is of the text.
  const NaturalBank* natural_ = nullptr;   // The bank, if it is of natural text.
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<RowMemory>> memories_;  // That no thread works with.
};

}  // namespace semfuse
