// An arena for people, for scripts and as a page.
#pragma once

#include <string>
#include <vector>

#include "study/arena.h"

namespace semfuse {

// What was measured of one knob, and of the test texts beside it.
struct ArenaReport {
  std::string knob;
  ArenaEnd real_positive;
  ArenaEnd real_negative;
  double real_perplexity = 0.0;
  std::size_t texts = 0;  // Of each end.
  std::vector<ArenaRun> runs;
};

// Rows of tables, the first with the names of its columns: methods at each strength, means over seeds with 95 %
// intervals where there are several; and what came of shares that were asked for.
std::vector<std::vector<std::string>> arena_cells(const ArenaReport& report);
std::vector<std::vector<std::string>> level_cells(const ArenaReport& report);
// What the columns mean.
std::string arena_note(const ArenaReport& report);

std::string arena_markdown(const ArenaReport& report);
std::string arena_json(const ArenaReport& report);
std::string arena_page(const ArenaReport& report);

}  // namespace semfuse
