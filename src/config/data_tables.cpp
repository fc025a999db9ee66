#include "config/data_tables.h"

#include <fmt/format.h>

#include <algorithm>
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
constexpr std::uint64_t kFewTexts = 10'000;
constexpr std::size_t kBatchOfFewTexts = 32;
constexpr std::uint64_t kWantedSteps = 500;  // Fewer leave a new model without words.
constexpr std::uint64_t kMostEpochs = 15;    // More only make it know its texts by heart.
constexpr double kDropoutOfFewTexts = 0.1;

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

std::uint64_t estimated_texts(const DataOptions& data) {
  RecordReader reader({data.train.begin(), data.train.end()},
                      {.text_column = data.text, .skip_bad = true, .table = table_options(data)});
  Record record;
  while (reader.bytes_read() < kSampledBytes || reader.bytes_read() == reader.bytes_total()) {
    if (!reader.next(record)) return reader.counts().texts;
  }
  const double rest = static_cast<double>(reader.bytes_total()) / static_cast<double>(reader.bytes_read());
  return static_cast<std::uint64_t>(static_cast<double>(reader.counts().texts) * std::max(rest, 1.0));
}

DataFit fit_for(std::uint64_t texts, const TrainingOptions& usual) {
  DataFit fit{.batch = texts < kFewTexts ? kBatchOfFewTexts : usual.batch, .epochs = usual.epochs, .dropout = {}};
  const std::uint64_t steps = std::max<std::uint64_t>((texts + fit.batch - 1) / fit.batch, 1);
  fit.epochs = std::max<std::size_t>(usual.epochs, std::min((kWantedSteps + steps - 1) / steps, kMostEpochs));
  if (fit.epochs > usual.epochs) fit.dropout = kDropoutOfFewTexts;
  return fit;
}

}  // namespace semfuse
