// The options by which commands are told how to read files of data.
#pragma once

#include <vector>

#include "command_line.h"
#include "config/table_choice.h"

namespace semfuse {

struct TableFlags : TableChoice {
  // --text, --format and --heading; what was added.
  std::vector<CommandOption*> add_to(CommandLine& app);
  // --skip-bad, where rows at fault are refused.
  CommandOption* add_skip_bad(CommandLine& app);
};

}  // namespace semfuse
