// Reads the log.jsonl of a run: one JSON object an event, an event a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/training_run.h"

namespace semfuse {

struct LoggedStep {
  std::uint64_t step = 0;
  std::uint64_t epoch = 0;
  bool skipped = false;  // Then there is no loss.
  double loss = 0.0;
  std::uint64_t num_tokens = 0;
};

struct RunHistory {
  std::vector<LoggedStep> steps;  // From 1 on, each once.
  std::vector<LoggedEvaluation> evaluations;
  std::string instruction_set;  // That the last steps ran with; empty in a log of an earlier version.
  bool finished = false;        // The model of the last step is saved.
};

// A last line without its end is left out: a program that was killed, or still runs, may have got no further. Throws
// Error as "origin:line: what" if a line is no event, or a step is missing or there twice.
RunHistory parse_run_log(std::string_view text, std::string_view origin);

// The lines up to a step: those before the first that belongs to a later one or that cannot be read.
std::string_view log_until(std::string_view text, std::uint64_t step);

}  // namespace semfuse
