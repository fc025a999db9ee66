// Runs a program on a terminal of 80 columns by 24 lines and keeps what it wrote there.
#pragma once

#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace semfuse {

struct TerminalResult {
  int exit_code = -1;
  std::string bytes;  // Both streams, as the terminal received them.
};

inline TerminalResult run_on_terminal(const std::vector<std::string>& command, bool colour = true) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  winsize size{};
  size.ws_col = 80;
  size.ws_row = 24;
  int terminal = -1;
  const pid_t id = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (id < 0) throw std::runtime_error("cannot open a terminal");
  if (id == 0) {
    ::setenv("TERM", "xterm-256color", 1);
    ::unsetenv("NO_COLOR");
    if (!colour) ::setenv("NO_COLOR", "1", 1);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  TerminalResult result;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(terminal, buffer, sizeof(buffer))) > 0;)
    result.bytes.append(buffer, static_cast<std::size_t>(count));
  int status = 0;
  ::waitpid(id, &status, 0);
  ::close(terminal);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace semfuse
