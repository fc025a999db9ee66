// The options by which commands are told how to read files of data.
#pragma once

#include <optional>
#include <string>

#include "command_line.h"
#include "data/table_reader.h"

namespace semfuse {

struct TableFlags {
  std::optional<std::string> text;
  std::optional<std::string> format;
  std::optional<std::string> heading;

  void add_to(CommandLine& app);
  // Throws Error for an unknown format or a heading without names.
  TableOptions options() const;
};

}  // namespace semfuse
