// Threads that act as the processes of a training.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "training/exchange.h"

namespace semfuse {

// What is on its way between threads.
class Mailboxes {
 public:
  void put(std::size_t from, std::size_t to, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    boxes_[{from, to}].emplace_back(bytes.begin(), bytes.end());
    arrived_.notify_all();
  }
  // Waits for the next message, which must have the size that is expected.
  bool take(std::size_t from, std::size_t to, std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    auto& box = boxes_[{from, to}];
    arrived_.wait(lock, [&] { return !box.empty(); });
    const std::vector<std::byte> message = std::move(box.front());
    box.pop_front();
    if (message.size() != bytes.size()) return false;
    std::copy(message.begin(), message.end(), bytes.begin());
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<std::size_t, std::size_t>, std::deque<std::vector<std::byte>>> boxes_;
};

class ThreadExchange final : public Exchange {
 public:
  ThreadExchange(Mailboxes& boxes, std::size_t rank, std::size_t size) : boxes_(boxes), rank_(rank), size_(size) {}

  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return size_; }
  std::string host(std::size_t rank) const override { return "thread " + std::to_string(rank); }
  void start(std::span<const Outgoing> sends, std::span<const Incoming> receives) override {
    for (const Outgoing& message : sends) boxes_.put(rank_, message.to, message.bytes);
    expected_.insert(expected_.end(), receives.begin(), receives.end());
  }

 protected:
  void finish() override {
    for (const Incoming& message : expected_) {
      if (!boxes_.take(message.from, rank_, message.bytes)) throw std::logic_error("a message of another size");
    }
    expected_.clear();
  }

 private:
  Mailboxes& boxes_;
  std::size_t rank_;
  std::size_t size_;
  std::vector<Incoming> expected_;
};

// Runs body(exchange) on so many threads at once.
inline void on_ranks(std::size_t size, const std::function<void(std::shared_ptr<Exchange>)>& body) {
  Mailboxes boxes;
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] { body(std::make_shared<ThreadExchange>(boxes, rank, size)); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace semfuse
