#include "config/data_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/nearest_word.h"
#include "data/data_description.h"
#include "data/record_reader.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

// Those that have columns, to train on and to measure with: a label of either must be known.
std::vector<std::filesystem::path> tables(const DataOptions& data, const TableOptions& options) {
  std::vector<std::filesystem::path> files;
  for (const auto* names : {&data.train, &data.val}) {
    for (const std::string& name : *names) {
      if ((options.format ? *options.format : table_format_of(name)) != TableFormat::txt) files.emplace_back(name);
    }
  }
  return files;
}

// A label is the name of a column that a knob was proposed for.
void check_label(const std::string& label, const DataDescription& description) {
  std::vector<std::string> names;
  for (const ColumnSummary& column : description.columns) {
    if (column.name() == label) {
      throw Error(
          fmt::format("data.labels names {}, a column of kind {} with {} different values, which can be no knob; "
                      "leave it out",
                      quoted_text(label), to_string(column.kind()),
                      column.values().empty() ? "many" : std::to_string(column.values().size())));
    }
    names.push_back(column.name());
  }
  throw Error(fmt::format("data.labels names {}, which is no column of the files but the text's{}", quoted_text(label),
                          did_you_mean(label, names)));
}

constexpr std::uint64_t kSampledBytes = std::uint64_t{4}
                                        << 20;  // Of the files; a reader is some 100 KB ahead of its texts.
constexpr double kBytesOfToken = 4.5;           // About, whatever the tokenizer.
constexpr std::uint64_t kBytesOfPiece = 500;    // As much text makes one more worth its while ...
constexpr std::size_t kFewestPieces = 1000, kMostPieces = 8000;  // ... between these.
constexpr double kTokensOfStep = 1500.0;
constexpr std::size_t kSmallestBatch = 8;
constexpr std::uint64_t kFewTexts = 10'000;
constexpr std::size_t kBatchOfFewTexts = 32;
constexpr std::uint64_t kWantedSteps = 500;   // Fewer leave a new model without words.
constexpr double kWantedTokens = 3.5e6;       // From about that many on, less is gained by each epoch than it costs.
constexpr std::size_t kMostEpochs = 15;       // More only make it know its texts by heart.
constexpr double kDropout = 0.1;              // Of what is read more often than usual ...
constexpr std::size_t kManyEpochs = 6;        // ... up to so often, ...
constexpr double kDropoutOfManyEpochs = 0.2;  // ... and from there on. Long texts learn more in smaller steps instead.

constexpr std::uint64_t kFewBytes = 500'000;  // Less text is learned by heart without the larger dropout, however long.
constexpr double kLongText = 32.0;            // Tokens; in shorter ones distance makes no difference.

}  // namespace

TableOptions table_options(const DataOptions& data) {
  TableOptions options{.format = std::nullopt, .heading = data.heading};
  if (!data.format.empty()) options.format = parse_table_format(data.format);
  return options;
}

ColumnKnobs column_knobs(const DataOptions& data, const std::function<void(double done)>& progress) {
  const TableOptions options = table_options(data);
  const std::vector<std::filesystem::path> files = tables(data, options);
  DataDescription description;
  if (!files.empty()) {
    const auto show = [&](std::uint64_t done, std::uint64_t total) {
      if (progress) progress(static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(total, 1)));
    };
    description =
        describe_data(files, {.text_column = data.text, .table = options, .columns_only = true, .progress = show});
  }
  for (const std::string& label : data.labels) {
    const auto is_it = [&](const KnobProposal& proposal) { return proposal.column == label; };
    if (std::none_of(description.knobs.begin(), description.knobs.end(), is_it)) check_label(label, description);
  }
  ColumnKnobs result;
  for (const KnobProposal& proposal : description.knobs) {
    const bool wanted =
        data.labels.empty() || std::find(data.labels.begin(), data.labels.end(), proposal.column) != data.labels.end();
    if (!wanted) continue;
    if (result.knobs.size() == kMaxKnobs) {
      result.left_out.push_back(proposal.column);
    } else {
      result.knobs.push_back(parse_knob(proposal.knob));
    }
  }
  return result;
}

DataSize estimated_size(const DataOptions& data) {
  RecordReader reader({data.train.begin(), data.train.end()},
                      {.text_column = data.text, .skip_bad = true, .table = table_options(data)});
  Record record;
  std::uint64_t bytes = 0;
  while (reader.bytes_read() < kSampledBytes || reader.bytes_read() == reader.bytes_total()) {
    if (!reader.next(record)) return {.texts = reader.counts().texts, .bytes = bytes};
    bytes += record.text.size();
  }
  const double rest =
      std::max(static_cast<double>(reader.bytes_total()) / static_cast<double>(reader.bytes_read()), 1.0);
  const auto whole = [&](std::uint64_t part) { return static_cast<std::uint64_t>(static_cast<double>(part) * rest); };
  return {.texts = whole(reader.counts().texts), .bytes = whole(bytes)};
}

DataFit fit_for(const DataSize& size, const TrainingOptions& usual, std::size_t max_length) {
  const auto texts = static_cast<double>(std::max<std::uint64_t>(size.texts, 1));
  const double tokens = texts + static_cast<double>(size.bytes) / kBytesOfToken;  // Each has an end.
  const double length = std::min(tokens / texts, static_cast<double>(max_length));
  DataFit fit{.vocabulary = std::clamp<std::size_t>(size.bytes / kBytesOfPiece, kFewestPieces, kMostPieces),
              .batch = usual.batch,
              .epochs = usual.epochs,
              .dropout = {},
              .optimizer = OptimizerKind::adamw,
              .distance_bias = tokens / texts > kLongText};
  if (size.texts < kFewTexts) fit.batch = std::min(fit.batch, kBatchOfFewTexts);
  fit.batch = std::min(fit.batch, std::max(kSmallestBatch, static_cast<std::size_t>(kTokensOfStep / length)));
  const double sequences = std::max(texts, tokens / static_cast<double>(max_length));
  const double by_steps = std::ceil(static_cast<double>(kWantedSteps * fit.batch) / sequences);
  const double wanted = std::max(by_steps, std::ceil(kWantedTokens / tokens));
  fit.epochs = std::max(usual.epochs, static_cast<std::size_t>(std::min(wanted, static_cast<double>(kMostEpochs))));
  const bool many = fit.epochs > kManyEpochs;
  const bool small_steps = many && fit.distance_bias && size.bytes >= kFewBytes;
  if (small_steps) fit.batch = std::max(kSmallestBatch, fit.batch / 2);
  if (fit.epochs > usual.epochs) fit.dropout = many && !small_steps ? kDropoutOfManyEpochs : kDropout;
  if (!many) fit.optimizer = OptimizerKind::muon;
  return fit;
}

}  // namespace semfuse
