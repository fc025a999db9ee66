#include "serve/late_answers.h"

#include <utility>

#include "serve/error_answer.h"

namespace semfuse {

void LateAnswers::add(const std::shared_ptr<HttpExchange>& exchange, Clock::time_point deadline,
                      std::function<HttpAnswer()> make) {
  const auto pending = std::make_shared<Pending>();
  pending->exchange = exchange;
  pending->deadline = deadline;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(pending_, [](const auto& each) { return each.expired(); });
    pending_.push_back(pending);
  }
  // Before it is answered: afterwards nobody goes away.
  exchange->on_gone([weak = std::weak_ptr(pending)] {
    if (const auto gone = weak.lock()) gone->over = true;
  });
  add_task([pending, make = std::move(make)] {
    if (pending->over) return;
    HttpAnswer answer;
    try {
      answer = make();
    } catch (...) {
      answer = error_answer(std::current_exception());
    }
    if (pending->claim()) pending->exchange->send(std::move(answer));
  });
}

void LateAnswers::add_task(std::function<void()> task) {
  if (queue_.add(std::move(task))) return;
  throw ApiError(429, "the server has as much to work on as it may; try again", "", "queue_full");
}

void LateAnswers::fail(Clock::time_point time, const ApiError& error) {
  std::vector<std::shared_ptr<Pending>> late;  // Answered without the lock.
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(pending_, [](const auto& each) { return each.expired(); });
    for (const auto& weak : pending_) {
      auto each = weak.lock();
      if (each && each->deadline < time) late.push_back(std::move(each));
    }
  }
  for (const auto& each : late) {
    if (each->claim()) each->exchange->send(error_answer(error));
  }
}

}  // namespace semfuse
