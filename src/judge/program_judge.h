// Any program as a judge: it reads a text a line on its standard input and writes a number a line.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "judge/judge.h"

namespace semfuse {

struct ProgramJudgeOptions {
  // A program that takes longer for the texts of one call hangs, and is ended. Raise it for large models.
  std::chrono::milliseconds patience = std::chrono::minutes(10);
  std::function<bool()> go_on = {};  // Asked several times a second; false ends the program with an Error.
};

// `command` is a line for /bin/sh. Line breaks inside texts become blanks. Of a distribution it writes a number for
// each label on each line, with blanks between them. What it writes to standard error is shown.
class ProgramJudge : public Judge {
 public:
  ProgramJudge(Knob knob, std::string command, ProgramJudgeOptions options = {});

  // Runs the program once. Throws Error, in one line, if it cannot be started, fails, hangs, writes too few or too many
  // lines, something that is no number, or a number out of the knob's range.
  std::vector<double> judge(std::span<const std::string> texts) const override;
  // Of the command: what it does, nobody knows.
  std::string fingerprint() const override;

 private:
  Knob knob_;
  std::string command_;
  ProgramJudgeOptions options_;
};

}  // namespace semfuse
