// Ctrl-C, SIGTERM and a closed terminal (SIGHUP) as a question that a loop asks between two steps.
#pragma once

namespace semfuse {

// While it lives, the first of these signals is only noted; a second one ends the program at once. One at a time.
// A signal that was ignored from the start, as under nohup or in a shell's background, stays ignored.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // The signal that asked to stop; 0 if none did.
  int signal() const;
};

}  // namespace semfuse
