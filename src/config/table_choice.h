// What a person says of how files of data are to be read.
#pragma once

#include <optional>
#include <string>

#include "data/table_reader.h"
#include "semfuse/experiment.h"

namespace semfuse {

struct TableChoice {
  std::optional<std::string> text;     // The column of the texts.
  std::optional<std::string> format;   // "txt", "tsv", "csv" or "jsonl".
  std::optional<std::string> heading;  // Names of the columns, with commas.
  bool skip_bad = false;

  // Throws Error for an unknown format or a heading without names.
  TableOptions options() const;
  // Where something is said, the key of that name is as it says. Throws as options().
  void apply_to(DataOptions& data) const;
  // Throws Error that names the first thing said: each is of files, and there are none.
  void require_none() const;
};

}  // namespace semfuse
