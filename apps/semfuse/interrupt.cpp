#include "interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace semfuse {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
volatile std::sig_atomic_t caught = 0;
int guards = 0;

void note(int number) {
  if (caught != 0) ::_exit(128 + number);
  caught = number;
}

void set_handler(void (*handler)(int)) {
  for (const int number : kSignals) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(number, &action, nullptr);
  }
}

}  // namespace

InterruptGuard::InterruptGuard() {
  if (guards++ > 0) return;
  caught = 0;
  set_handler(note);
}

InterruptGuard::~InterruptGuard() {
  if (--guards == 0) set_handler(SIG_DFL);
}

int InterruptGuard::signal() const {
  return caught;
}

int InterruptGuard::exit_code() const {
  return 128 + (caught != 0 ? caught : SIGTERM);
}

}  // namespace semfuse
