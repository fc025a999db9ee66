#include "serve/task_queue.h"

namespace semfuse {

TaskQueue::TaskQueue(std::size_t most_waiting) : most_waiting_(most_waiting), thread_([this] { work(); }) {}

TaskQueue::~TaskQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool TaskQueue::add(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || tasks_.size() >= most_waiting_) return false;
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
  return true;
}

bool TaskQueue::is_idle() const {
  const std::lock_guard lock(mutex_);
  return tasks_.empty() && !working_;
}

void TaskQueue::work() {
  while (true) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      working_ = false;
      wake_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
      if (stopping_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
      working_ = true;
    }
    task();
  }
}

}  // namespace semfuse
