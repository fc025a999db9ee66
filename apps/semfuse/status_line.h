// A line that is kept up to date at the bottom of a terminal: a bar and what is going on. It gives the bytes to print;
// who has it prints them.
#pragma once

#include <cstddef>
#include <string>

#include "terminal.h"

namespace semfuse {

class StatusLine {
 public:
  explicit StatusLine(const Terminal& terminal) : terminal_(terminal) {}

  // Replaces the line. `share` of the work is done, 0 to 1; `text` stands behind the bar and is cut if it does not fit.
  std::string shown(double share, const std::string& text);
  // Removes the line; empty if there is none.
  std::string cleared();

 private:
  const Terminal& terminal_;
  std::size_t length_ = 0;  // Columns of the line that stands on the terminal.
};

}  // namespace semfuse
