// Turns files of texts into datasets on the disk: reads, tokenises, labels, and keeps the result to be found again.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/column_dataset.h"
#include "data/table_reader.h"
#include "data/text_encoder.h"
#include "semfuse/feature_bank.h"
#include "semfuse/tokenizer.h"

namespace semfuse {

struct PreparationOptions {
  std::vector<std::filesystem::path> train;  // May be none if there are `val` and `given`.
  std::vector<std::filesystem::path> val;    // None: `val_share` of the training texts, by a hash of the text.
  std::string text_column;                   // Empty: found by its name.
  TableOptions table;                        // How every file is read.
  double val_share = 0.05;
  // Of the training texts with a label of a column, by another hash: they are left out, so that judges of these labels
  // can be trained on texts that the model never sees.
  double judge_share = 0.0;
  std::size_t max_length = 128;  // Most ids of a sequence.
  bool cut = false;              // Of a longer text only the beginning stays; otherwise it becomes several sequences.
  bool skip_bad = false;         // Rows at fault are counted and left out.
  TokenizerKind tokenizer = TokenizerKind::words;
  std::size_t vocabulary = 8000;
  bool leading_blank = false;
  std::optional<Tokenizer> given;                             // Take this one instead of making one.
  std::optional<Vocabulary> given_vocabulary = std::nullopt;  // Its tokens, if it is an imported model's.
  std::vector<Knob> knobs;
  // Makes what gives the texts soft labels; called if they are not prepared already. Empty: they have none.
  std::function<SoftLabels()> soft_labels = {};
  const FeatureBank* bank = nullptr;  // Reads knobs of the text; null if there are none. Used by prepare() only.
  bool feature_rows = true;           // The bank's rows are made, if it has any.
  std::vector<std::string> held_out;  // Texts with one of these words are a dataset of their own.
  std::size_t threads = 0;
  // Told how much of the work is done, from 0 to 1, now and then; false stops it with an Error.
  std::function<bool(double done)> on_progress;
};

// What was read; kept with the datasets.
struct PreparationReport {
  std::string text_column;
  std::uint64_t train_texts = 0;
  std::uint64_t val_texts = 0;
  std::uint64_t val_left_out = 0;  // Texts to measure with beyond the first kMostValTexts or so.
  std::uint64_t long_texts = 0;    // Longer than max_length, and so split or cut.
  std::uint64_t empty = 0;         // Lines without a text.
  std::uint64_t bad = 0;           // Rows at fault that were left out.
  std::uint64_t held_out_texts = 0;
  std::uint64_t judge_texts = 0;  // Kept apart for judges.
  bool operator==(const PreparationReport&) const = default;
};

struct PreparedData {
  Tokenizer tokenizer;
  std::shared_ptr<const ColumnDataset> train;
  std::shared_ptr<const ColumnDataset> val;
  std::shared_ptr<const ColumnDataset> held_out;  // Null if no words are held out.
  PreparationReport report;
  std::string fingerprint;  // Of files and options: other data have another one.
  bool was_there = false;   // Found, not made.
};

// More texts than these are not needed to measure with.
constexpr std::uint64_t kMostValTexts = 10'000;

// Where prepared data are kept unless told otherwise: $SEMFUSE_CACHE, or semfuse in $XDG_CACHE_HOME or ~/.cache.
std::filesystem::path default_cache();

// Of the names, sizes and times of the files, and of all options that the result depends on. Throws Error if a file is
// missing.
std::string fingerprint_of(const PreparationOptions& options);

// Finds what was prepared before in `cache`, or prepares it: the same bytes for any number of threads. A folder has its
// name only when it is whole, so one that a kill or a full disk cut off is never used, and is removed by the next who
// prepares. Several processes may do so at once. Throws Error.
PreparedData prepare(const PreparationOptions& options, const std::filesystem::path& cache = default_cache());

}  // namespace semfuse
