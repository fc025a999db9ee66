#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "command.h"
#include "data/data_description.h"
#include "data/knob_proposals.h"
#include "io/file.h"
#include "io/json_writer.h"
#include "io/output_file.h"
#include "semfuse/error.h"
#include "study_progress.h"
#include "table.h"
#include "table_options.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

struct DataFlags {
  std::vector<std::string> files;
  TableFlags table;
  std::optional<std::string> out;
  bool json = false;
  bool quiet = false;
};

constexpr std::size_t kMostCharacters = 30;  // Of a name or label in a table.
constexpr std::size_t kMostLabels = 8;

std::uint64_t num_words(const DataDescription& data) {
  return static_cast<std::uint64_t>(std::llround(data.lengths.mean() * static_cast<double>(data.texts)));
}

// Text from a file, safe and short.
std::string shown(std::string_view text) {
  std::string safe = printable(text.substr(0, 4 * kMostCharacters));
  if (num_characters(safe) <= kMostCharacters) return safe;
  return printable(safe.substr(0, kMostCharacters - 3)) + "...";
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "0 %" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string what_it_holds(const ColumnSummary& column) {
  const auto values = column.values();
  std::string text;
  if (column.kind() == ColumnKind::number) text = fmt::format("{} to {}", column.low(), column.high());
  if (column.kind() == ColumnKind::text) text = fmt::format("{:.0f} bytes on average", column.mean_bytes());
  if (column.kind() == ColumnKind::nested) text = "lists or objects, which are not read";
  const bool list = column.kind() == ColumnKind::label || (column.kind() == ColumnKind::number && !values.empty());
  if (!list) return text;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(values.size(), kMostLabels); ++i) {
    parts.push_back(fmt::format("{} ({})", shown(values[i].first), with_separators(values[i].second)));
  }
  if (values.size() > kMostLabels) parts.push_back(fmt::format("{} more", values.size() - kMostLabels));
  return fmt::format("{}{}{}", text, text.empty() ? "" : ": ", fmt::join(parts, ", "));
}

std::string as_text(const Terminal& terminal, const DataDescription& data) {
  Table facts({Table::Align::left});
  const auto fact = [&facts](std::string name, std::string value) {
    facts.add({{.text = std::move(name), .dim = true}, {.text = std::move(value)}});
  };
  for (const DataDescription::File& file : data.files) {
    fact(data.files.size() == 1 ? "file" : "files", fmt::format("{} ({}, {})", printable(file.path.string()),
                                                                to_string(file.format), counted(file.texts, "text")));
  }
  fact("text", data.text_column.reason.empty()
                   ? fmt::format("column {}", shown(data.text_column.name))
                   : fmt::format("column {}, {}", shown(data.text_column.name), data.text_column.reason));
  if (data.tabs_in_lines) fact("", "every line has a tab: with --format tsv what it parts would be columns");
  fact("texts", fmt::format("{}, {} bytes, {} words and marks", with_separators(data.texts),
                            with_separators(data.text_bytes), with_separators(num_words(data))));
  if (data.texts > 0) {
    fact("length", fmt::format("{:.1f} words on average; shortest {}, 5 % {}, half {}, 95 % {}, longest {}",
                               data.lengths.mean(), data.lengths.quantile(0.0), data.lengths.quantile(0.05),
                               data.lengths.quantile(0.5), data.lengths.quantile(0.95), data.lengths.quantile(1.0)));
    fact("last mark", fmt::format("{} end in . {} in ! {} in ?", share(data.final_marks[0], data.texts),
                                  share(data.final_marks[1], data.texts), share(data.final_marks[2], data.texts)));
  }
  fact("repeated", fmt::format("{}{} ({}) that came before", data.repeated_exact ? "" : "about ",
                               counted(data.repeated, "text"), share(data.repeated, data.texts)));
  fact("empty", fmt::format("{} without text", counted(data.empty, "line")));
  std::string text = facts.text(terminal, 0, 2);
  if (!data.columns.empty()) {
    Table columns({Table::Align::left, Table::Align::left, Table::Align::right, Table::Align::left});
    columns.add({{.text = "column"}, {.text = "kind"}, {.text = "filled"}, {.text = "holds"}});
    for (const ColumnSummary& column : data.columns) {
      columns.add({{.text = shown(column.name())},
                   {.text = std::string(to_string(column.kind()))},
                   {.text = with_separators(column.filled())},
                   {.text = what_it_holds(column)}});
    }
    text += '\n' + columns.text(terminal, 0, 2);
  }
  if (!data.faults.empty()) {
    text += "\nRows that cannot be used:\n";
    for (const FaultCount& fault : data.faults) {
      text += fmt::format("  {}: {}\n", to_string(fault.kind), counted(fault.rows, "row"));
      for (const std::string& example : fault.first) {
        text += "    " + broken(printable(example), terminal.width(), 6, 4) + '\n';
      }
    }
  }
  if (!data.knobs.empty()) {
    text += "\nKnobs that could be made of it:\n";
    for (const KnobProposal& knob : data.knobs)
      text += "  " + broken(printable(knob.knob), terminal.width(), 4, 2) + '\n';
  }
  if (const std::vector<ColumnFault> without = column_faults(data); !without.empty()) {
    text += "\nColumns that could be knobs if they were written otherwise:\n";
    for (const ColumnFault& fault : without) {
      text += "  " + broken(printable(fmt::format("{}: {}", shown(fault.column), fault.why)), terminal.width(), 4, 2) +
              '\n';
    }
  }
  return text;
}

Json as_json(const DataDescription& data) {
  Json files = Json::array(), columns = Json::array(), faults = Json::array(), knobs = Json::array();
  for (const DataDescription::File& file : data.files) {
    files.push_back({{"file", file.path.string()}, {"format", to_string(file.format)}, {"texts", file.texts}});
  }
  for (const ColumnSummary& column : data.columns) {
    Json values = Json::array();
    for (const auto& [value, count] : column.values()) values.push_back({{"value", value}, {"count", count}});
    Json object = {{"column", column.name()}, {"kind", to_string(column.kind())}, {"filled", column.filled()}};
    if (column.kind() == ColumnKind::number) {
      object["low"] = column.low();
      object["high"] = column.high();
      object["whole"] = column.whole();
    }
    object["values"] = std::move(values);
    columns.push_back(std::move(object));
  }
  for (const FaultCount& fault : data.faults) {
    faults.push_back({{"fault", to_string(fault.kind)}, {"rows", fault.rows}, {"first", fault.first}});
  }
  for (const KnobProposal& knob : data.knobs) knobs.push_back({{"knob", knob.knob}, {"why", knob.why}});
  Json no_knobs = Json::array();
  for (const ColumnFault& fault : column_faults(data))
    no_knobs.push_back({{"column", fault.column}, {"why", fault.why}});
  return {{"files", std::move(files)},
          {"text_column", data.text_column.name},
          {"text_column_reason", data.text_column.reason},
          {"texts", data.texts},
          {"bytes", data.text_bytes},
          {"words", num_words(data)},
          {"length",
           {{"mean", data.lengths.mean()},
            {"shortest", data.lengths.quantile(0.0)},
            {"q05", data.lengths.quantile(0.05)},
            {"median", data.lengths.quantile(0.5)},
            {"q95", data.lengths.quantile(0.95)},
            {"longest", data.lengths.quantile(1.0)}}},
          {"final_marks", {{".", data.final_marks[0]}, {"!", data.final_marks[1]}, {"?", data.final_marks[2]}}},
          {"repeated", data.repeated},
          {"repeated_exact", data.repeated_exact},
          {"empty", data.empty},
          {"faults", std::move(faults)},
          {"columns", std::move(columns)},
          {"knobs", std::move(knobs)},
          {"no_knobs", std::move(no_knobs)}};
}

int describe(const DataFlags& options) {
  if (options.out) require_new_file(*options.out);
  DataDescription data;
  {
    StudyProgress progress(options.quiet);
    DescribeOptions describe_options{.text_column = options.table.text.value_or(""), .table = options.table.options()};
    describe_options.progress = [&progress](std::uint64_t done, std::uint64_t total) {
      const double part = static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(total, 1));
      progress.show(fmt::format("{} MB read", with_separators(done / 1'000'000)), part);
    };
    data = describe_data({options.files.begin(), options.files.end()}, describe_options);
  }
  const Terminal terminal(stdout);
  if (options.out) {
    write_atomically(*options.out, draft_configuration(data, fs::path(*options.out).parent_path()));
  }
  terminal.print(options.json ? as_json(data).dump() + '\n' : as_text(terminal, data));
  if (options.out) notify(fmt::format("{} holds a configuration to edit", *options.out));
  return 0;
}

}  // namespace

Command data_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("data", "Look into files of text to train on");
  app->require_subcommand();
  const auto options = std::make_shared<DataFlags>();
  CommandLine* describe_app = app->add_subcommand("describe", "Say what is in files: texts, columns, faults, knobs");
  describe_app->add_option("FILE", options->files, "txt (a text a line), tsv, csv or jsonl, also .gz or .zst")
      ->required();
  options->table.add_to(*describe_app);
  describe_app->add_option("--out", options->out, "Write a commented configuration to edit and train with")
      ->type_name("TOML");
  describe_app->add_flag("--json", options->json, "Print one JSON object");
  describe_app->add_flag("--quiet", options->quiet, "Show no progress");
  const char* examples =
      "Examples:\n"
      "  semfuse data describe reviews.tsv\n"
      "  semfuse data describe a.jsonl.gz b.jsonl.gz --text body --json\n"
      "  semfuse data describe reviews.tsv --out my.toml\n";
  describe_app->footer(examples);
  app->footer(examples);
  return {.app = app, .purpose = "this data", .run = [options] { return describe(*options); }};
}

}  // namespace semfuse
