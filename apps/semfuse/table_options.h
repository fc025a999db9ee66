// The options by which commands are told how to read files of data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.h"
#include "data/table_reader.h"
#include "semfuse/experiment.h"

namespace semfuse {

struct TableFlags {
  std::optional<std::string> text;
  std::optional<std::string> format;
  std::optional<std::string> heading;
  bool skip_bad = false;

  // --text, --format and --heading; what was added.
  std::vector<CommandOption*> add_to(CommandLine& app);
  // --skip-bad, where rows at fault are refused.
  CommandOption* add_skip_bad(CommandLine& app);

  // Throws Error for an unknown format or a heading without names.
  TableOptions options() const;
  // Where an option is given, the key of that name is as it says. Throws as options().
  void apply_to(DataOptions& data) const;
  // Throws Error that names the first one given: each says something of the files of --data, and there are none.
  void require_none() const;
};

}  // namespace semfuse
