#include "core/thread_pool.h"

#include <algorithm>
#include <cassert>
#include <system_error>
#include <utility>

#include "semfuse/error.h"

namespace semfuse {

namespace {

// Rounds follow each other within microseconds while a step runs, so a waiting thread first spins, then sleeps.
constexpr int kSpins = 4000;

template <class T>
void wait_while_equal(const std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

std::size_t thread_count(std::size_t wanted) {
  return wanted > 0 ? wanted : std::max(1u, std::thread::hardware_concurrency());
}

ThreadPool::ThreadPool(std::size_t num_threads) {
  assert(num_threads >= 1);
  try {
    threads_.reserve(num_threads - 1);
    for (std::size_t worker = 1; worker < num_threads; ++worker) {
      threads_.emplace_back([this, worker] { serve(worker); });
    }
  } catch (const std::exception&) {  // No thread or no memory for one.
    stop();
    throw Error("cannot start " + std::to_string(num_threads) + " threads; ask for fewer");
  }
}

ThreadPool::~ThreadPool() {
  stop();
}

void ThreadPool::stop() {
  stopping_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ThreadPool::run(std::size_t num_tasks, const std::function<void(std::size_t, std::size_t)>& task) {
  task_ = &task;
  num_tasks_ = num_tasks;
  next_task_.store(0, std::memory_order_relaxed);
  busy_.store(threads_.size(), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  if (!threads_.empty()) round_.notify_all();
  take_tasks(0);
  for (std::size_t busy = busy_.load(std::memory_order_acquire); busy != 0;
       busy = busy_.load(std::memory_order_acquire)) {
    wait_while_equal(busy_, busy);
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::take_tasks(std::size_t worker) {
  for (std::size_t i = next_task_.fetch_add(1); i < num_tasks_; i = next_task_.fetch_add(1)) {
    try {
      (*task_)(i, worker);
    } catch (...) {
      const std::lock_guard lock(failure_mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
}

void ThreadPool::serve(std::size_t worker) {
  for (std::uint32_t seen = 0;;) {
    wait_while_equal(round_, seen);
    ++seen;
    if (stopping_) return;
    take_tasks(worker);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

}  // namespace semfuse
