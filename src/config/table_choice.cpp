#include "config/table_choice.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

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

TableOptions TableChoice::options() const {
  TableOptions options;
  if (format) options.format = parse_table_format(*format);
  if (heading) options.heading = names_of(*heading);
  return options;
}

void TableChoice::apply_to(DataOptions& data) const {
  const TableOptions table = options();
  if (text) data.text = *text;
  if (table.format) data.format = to_string(*table.format);
  if (heading) data.heading = table.heading;
  if (skip_bad) data.skip_bad = true;
}

void TableChoice::require_none() const {
  const char* given = text ? "--text" : format ? "--format" : heading ? "--heading" : skip_bad ? "--skip-bad" : nullptr;
  if (given != nullptr) throw Error(fmt::format("{} says how the files of --data are read; add --data", given));
}

}  // namespace semfuse
