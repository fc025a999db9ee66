// The exception that semfuse throws for everything a caller can cause.
#pragma once

#include <stdexcept>
#include <string>

namespace semfuse {

// Says what is wrong, where, and what to do next, in one line. Programs print what() and exit with code 2.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace semfuse
