#include "config/data_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/nearest_word.h"
#include "data/data_description.h"
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

}  // namespace

TableOptions table_options(const DataOptions& data) {
  TableOptions options{.format = std::nullopt, .heading = data.heading};
  if (!data.format.empty()) options.format = parse_table_format(data.format);
  return options;
}

ColumnKnobs column_knobs(const DataOptions& data) {
  const TableOptions options = table_options(data);
  const std::vector<std::filesystem::path> files = tables(data, options);
  DataDescription description;
  if (!files.empty()) {
    description =
        describe_data(files, {.text_column = data.text, .table = options, .columns_only = true, .progress = {}});
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

}  // namespace semfuse
