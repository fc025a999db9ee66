// Ctrl-C, SIGTERM, a closed terminal (SIGHUP) and a scheduler's warning (SIGUSR1) as a question that a loop asks
// between two steps.
#pragma once

namespace semfuse {

// While it lives, the first of these signals is only noted; a second one ends the program at once. Of several, one
// within the other, the outer one counts. A signal that was ignored from the start, as under nohup or in a shell's
// background, stays ignored.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // The signal that asked to stop; 0 if none did.
  int signal() const;
  // Of a program that stopped for it: 128 + the signal, or that of SIGTERM if another process had it.
  int exit_code() const;
};

}  // namespace semfuse
