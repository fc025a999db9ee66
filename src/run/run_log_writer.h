// Writes the log.jsonl of a run; run_log.h reads it.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "run/run_log.h"
#include "semfuse/trainer.h"

namespace semfuse {

// Lines gathered in memory and appended to a file twice a second, so that no step waits for the disk.
class RunLogWriter {
 public:
  // Throws Error.
  explicit RunLogWriter(const std::filesystem::path& path);
  ~RunLogWriter();  // Writes what is left, as far as it goes.
  RunLogWriter(const RunLogWriter&) = delete;
  RunLogWriter& operator=(const RunLogWriter&) = delete;

  // An event each. Throw Error if it is time to write and the file takes no more; so does flush().
  void add_start(std::uint64_t step, std::string_view instruction_set);
  void add(const StepReport& report, double seconds);
  void add(const LoggedEvaluation& evaluation);
  void add_finished(std::uint64_t step);
  void flush();

  // flush(), and waits until the disk has it.
  void sync();

 private:
  void add_line(std::string_view line);
  bool write();

  std::filesystem::path path_;
  int file_;
  std::string lines_;
  std::chrono::steady_clock::time_point last_write_;
};

}  // namespace semfuse
