// Threads that share a list of tasks. Which thread runs a task is left to chance, so a task's result may depend on its
// index only, never on the worker.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace semfuse {

// `wanted`, or one for each processor if that is 0.
std::size_t thread_count(std::size_t wanted);

class ThreadPool {
 public:
  // `num_threads` counts the caller, who works too; at least 1. Throws Error if the system gives no more threads.
  explicit ThreadPool(std::size_t num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t num_threads() const { return threads_.size() + 1; }

  // Runs task(index, worker) for every index below num_tasks and returns when all are done; worker is below
  // num_threads(). Not reentrant. The first exception of a task is thrown again here.
  void run(std::size_t num_tasks, const std::function<void(std::size_t index, std::size_t worker)>& task);

 private:
  void serve(std::size_t worker);
  void take_tasks(std::size_t worker);
  void stop();

  std::vector<std::thread> threads_;
  const std::function<void(std::size_t, std::size_t)>* task_ = nullptr;
  std::size_t num_tasks_ = 0;
  bool stopping_ = false;
  alignas(64) std::atomic<std::size_t> next_task_ = 0;
  alignas(64) std::atomic<std::uint32_t> round_ = 0;
  alignas(64) std::atomic<std::size_t> busy_ = 0;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace semfuse
