// What a command shows that trains or measures many times: a bar kept up to date on a terminal, lines now and then
// elsewhere, so that nobody waits for minutes without a word.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "status_line.h"
#include "terminal.h"

namespace semfuse {

class StudyProgress {
 public:
  // Writes to standard error; nothing at all if quiet.
  explicit StudyProgress(bool quiet = false) : quiet_(quiet) {}
  ~StudyProgress() { clear(); }
  StudyProgress(const StudyProgress&) = delete;
  StudyProgress& operator=(const StudyProgress&) = delete;

  // Where the work stands, and which share of this call's work is done: about ten times a second on a terminal, every
  // half a minute elsewhere. The time left is added.
  void show(std::string_view text, double share);
  void line(std::string_view text);  // A line that stays.
  void clear();                      // Removes the line that is kept up to date.

  bool is_live() const { return terminal_.is_terminal(); }  // Whether a line is kept up to date.

 private:
  Terminal terminal_{stderr};
  bool quiet_;
  StatusLine status_{terminal_};
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = begin_;
};

// To be told of one piece of work how much of it is done; the line goes when all is.
std::function<void(double done)> show_progress(std::string what, bool quiet = false);

}  // namespace semfuse
