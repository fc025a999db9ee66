#include "fork_guard.h"

#include <pthread.h>

#include <atomic>

#include "semfuse/error.h"

namespace semfuse::python {
namespace {

std::atomic<std::uint64_t> forks = 0;

std::uint64_t forks_so_far() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });
  (void)registered;
  return forks.load(std::memory_order_relaxed);
}

}  // namespace

ForkGuard::ForkGuard() : forks_(forks_so_far()) {}

void ForkGuard::check() const {
  if (forks.load(std::memory_order_relaxed) == forks_) return;
  throw Error(
      "this object was made before the process was forked, and its threads and locks are not of this process; load it "
      "anew here, or start processes with multiprocessing's \"spawn\"");
}

}  // namespace semfuse::python
