// What a training run shows while it runs: a bar kept up to date on a terminal, a line now and then elsewhere.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "semfuse/trainer.h"
#include "status_line.h"

namespace semfuse {

class Progress {
 public:
  // Says nothing at all if quiet. A stream that takes no more does not stop the training: see failure().
  // `first_step`: how many steps were done before.
  Progress(const Terminal& terminal, bool quiet, std::size_t epochs, std::uint64_t first_step,
           std::uint64_t total_steps);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // After every step; shows something about ten times a second on a terminal, every five seconds elsewhere.
  void step(const StepReport& report, double seconds);
  void line(std::string_view text);  // A line that stays.
  void clear();                      // Removes the line that is kept up to date.

  // Why the stream took no more; empty if it did, or if it was a pipe whose reader left.
  const std::string& failure() const { return failure_; }

 private:
  void print(const std::string& text);

  const Terminal& terminal_;
  bool quiet_;
  std::size_t epochs_;
  std::uint64_t first_step_;
  std::uint64_t total_steps_;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point last_shown_;
  double tokens_per_second_ = 0.0;  // Of about the last two seconds.
  StatusLine status_;
  std::string failure_;
};

}  // namespace semfuse
