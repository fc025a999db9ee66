#include "table_options.h"

#include <fmt/format.h>

#include "semfuse/error.h"

namespace semfuse {
namespace {

std::vector<std::string> names_of(std::string_view heading) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t end = heading.find(',');
    if (heading.substr(0, end).empty()) {
      throw Error("--heading has an empty name; write one for each column, as label,text");
    }
    names.emplace_back(heading.substr(0, end));
    if (end == heading.npos) return names;
    heading.remove_prefix(end + 1);
  }
}

}  // namespace

std::vector<CommandOption*> TableFlags::add_to(CommandLine& app) {
  return {
      app.add_option("--text", text, "The column that holds the text (default: found by its name, or the longest)")
          ->type_name("COLUMN"),
      app.add_option("--format", format, "txt, tsv, csv or jsonl, for files whose names do not say")
          ->type_name("FORMAT"),
      app.add_option("--heading", heading, "Names of the columns, with commas, for tsv and csv without a line of them")
          ->type_name("NAMES")};
}

CommandOption* TableFlags::add_skip_bad(CommandLine& app) {
  return app.add_flag("--skip-bad", skip_bad,
                      "Leave out rows that are at fault, and say how many, instead of refusing them");
}

TableOptions TableFlags::options() const {
  TableOptions options;
  if (format) options.format = parse_table_format(*format);
  if (heading) options.heading = names_of(*heading);
  return options;
}

void TableFlags::apply_to(DataOptions& data) const {
  const TableOptions table = options();
  if (text) data.text = *text;
  if (table.format) data.format = to_string(*table.format);
  if (heading) data.heading = table.heading;
  if (skip_bad) data.skip_bad = true;
}

void TableFlags::require_none() const {
  const char* given = text ? "--text" : format ? "--format" : heading ? "--heading" : skip_bad ? "--skip-bad" : nullptr;
  if (given != nullptr) throw Error(fmt::format("{} says how the files of --data are read; add --data", given));
}

}  // namespace semfuse
