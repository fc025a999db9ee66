// Runs a program that reads all of its input and writes its output, and ends it if it does not end by itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace semfuse {

struct FilterOptions {
  std::string name;             // How messages begin: "judge \"python3 x.py\"".
  std::size_t most_output = 0;  // Bytes; a program that writes more is ended.
  std::chrono::milliseconds patience = std::chrono::minutes(10);
  std::function<bool()> go_on = {};  // Asked several times a second; false ends the program.
};

// What `command`, a line for /bin/sh, writes when it is given `input`. Reading and writing go on at the same time, so
// neither side waits for the other for ever. Throws Error if it cannot be started, ends with another code than 0 or by
// a signal, writes too much or takes too long; whatever happens, nothing of it is left running.
std::string run_filter(const std::string& command, std::string_view input, const FilterOptions& options);

}  // namespace semfuse
