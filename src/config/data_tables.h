// How the files of an experiment are read, and which knobs their columns give.
#pragma once

#include <string>
#include <vector>

#include "data/table_reader.h"
#include "semfuse/experiment.h"

namespace semfuse {

// As data.format and data.heading say. Throws Error for a format that there is not.
TableOptions table_options(const DataOptions& data);

struct ColumnKnobs {
  std::vector<Knob> knobs;
  std::vector<std::string> left_out;  // Columns that would be knobs too, but for kMaxKnobs.
};

// Reads all files and makes a knob of each column that data.labels names, or, if it names none, of each that can be
// one. Throws Error if a label's column is not there or can be none, and for files that cannot be read.
ColumnKnobs column_knobs(const DataOptions& data);

}  // namespace semfuse
