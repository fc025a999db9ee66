// A thread for what takes too long to be done where requests are read.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace semfuse {

// Does one task after the other. What is left at its end is not done.
class TaskQueue {
 public:
  explicit TaskQueue(std::size_t most_waiting);
  ~TaskQueue();
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  // False if too many wait already. A task must not throw. May be called from several threads at once.
  bool add(std::function<void()> task);
  bool is_idle() const;  // Nothing is done, and nothing waits.

 private:
  void work();

  const std::size_t most_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  bool working_ = false;
  std::thread thread_;
};

}  // namespace semfuse
