// Answers that take too long to be made where requests are read.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "serve/http_exchange.h"
#include "serve/task_queue.h"
#include "wire/api_error.h"

namespace semfuse {

// Makes one after the other, on a thread of its own. All functions may be called from several threads at once.
class LateAnswers {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LateAnswers(std::size_t most_waiting) : queue_(most_waiting) {}

  // Sends what `make` returns, or the error that it throws. It is not called if the client has gone or the exchange has
  // been answered before its turn. Throws ApiError, 429, if too many wait already.
  void add(const std::shared_ptr<HttpExchange>& exchange, Clock::time_point deadline, std::function<HttpAnswer()> make);
  // A task that answers by itself and throws nothing. Throws ApiError as add() does.
  void add_task(std::function<void()> task);

  // Answers with the error what has its deadline before that time and has no answer yet.
  void fail(Clock::time_point time, const ApiError& error);

  bool is_idle() const { return queue_.is_idle(); }

 private:
  struct Pending {
    std::shared_ptr<HttpExchange> exchange;
    Clock::time_point deadline;
    std::atomic<bool> over = false;  // Answered, or nobody waits for it.
    // True for the first who asks: that one answers.
    bool claim() { return !over.exchange(true); }
  };

  std::mutex mutex_;
  std::vector<std::weak_ptr<Pending>> pending_;
  TaskQueue queue_;  // Last: its thread ends first.
};

}  // namespace semfuse
