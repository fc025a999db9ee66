// Tells objects of before a fork from those of after it: threads and locks of the library do not survive one.
#pragma once

#include <cstdint>

namespace semfuse::python {

// Remembers in which process it was made.
class ForkGuard {
 public:
  ForkGuard();
  // Throws Error that says what to do if this is a fork of that process.
  void check() const;

 private:
  std::uint64_t forks_;
};

}  // namespace semfuse::python
