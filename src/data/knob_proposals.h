// Which knobs could be made of columns and texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/data_description.h"

namespace semfuse {

// Of a description without them: a column of numbers is a scalar over its range, one of yes and no (1 and 0, pos and
// neg, ...) a probability, one of up to 20 labels a distribution, and so are whole numbers in a column that is called
// label, class, topic and the like; texts have a length, and a final mark if they end in several.
std::vector<KnobProposal> propose_knobs(const DataDescription& description);

// A column that would be a knob but for how its name, a label or its numbers are written.
struct ColumnFault {
  std::string column;
  std::string why;  // "its label \"a, b\" holds a comma"
};

// Of a description without knobs too.
std::vector<ColumnFault> column_faults(const DataDescription& description);

// How a knob names its column: column stars, column "Star Rating".
std::string column_source(std::string_view column);

}  // namespace semfuse
