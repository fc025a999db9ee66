#include "table_options.h"

#include <fmt/format.h>

#include "semfuse/error.h"

namespace semfuse {

void TableFlags::add_to(CommandLine& app) {
  app.add_option("--text", text, "The column that holds the text (default: found by its name, or the longest)")
      ->type_name("COLUMN");
  app.add_option("--format", format, "txt, tsv, csv or jsonl, for files whose names do not say")->type_name("FORMAT");
  app.add_option("--heading", heading, "Names of the columns, with commas, for tsv and csv without a line of them")
      ->type_name("NAMES");
}

TableOptions TableFlags::options() const {
  TableOptions options;
  if (format) options.format = parse_table_format(*format);
  if (heading) {
    std::string_view rest = *heading;
    while (true) {
      const std::size_t end = rest.find(',');
      if (rest.substr(0, end).empty()) {
        throw Error("--heading has an empty name; write one for each column, as label,text");
      }
      options.heading.emplace_back(rest.substr(0, end));
      if (end == rest.npos) break;
      rest.remove_prefix(end + 1);
    }
  }
  return options;
}

}  // namespace semfuse
