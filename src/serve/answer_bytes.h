// The bytes of one answer on their way to the client: filled by any thread, emptied by the server's.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "serve/http_exchange.h"

namespace semfuse {

class AnswerBytes : public HttpExchange {
 public:
  struct Form {
    bool keep = false;            // The connection goes on after it.
    bool chunks = false;          // The client reads chunks, so that an answer's end can be told without closing.
    bool is_head = false;         // Only the head is wanted.
    std::size_t most_unread = 0;  // Bytes of pieces that wait; more cut the client off.
  };
  // `wake` is told that there are bytes, and not again before a take() that finds none, but for the end, which is
  // always told; `cut` that the client reads too slowly. Both by any thread.
  AnswerBytes(const Form& form, std::function<void()> wake, std::function<void()> cut)
      : form_(form),
        wake_(std::make_shared<const std::function<void()>>(std::move(wake))),
        cut_(std::make_shared<const std::function<void()>>(std::move(cut))) {}

  void send(HttpAnswer answer) override;
  void begin(HttpAnswer head) override;
  void write(std::string_view piece) override;
  void end(std::string_view last_piece) override;
  void on_gone(std::function<void()> callback) override;

  // The rest is for the connection, on the server's thread.

  struct Output {
    std::string bytes;
    bool last = false;  // Nothing follows.
    bool keep = false;
  };
  bool has_ended() const;
  Output take();
  // The client has gone, or has all of it. Lets go of everything.
  void close();

 private:
  void wake(std::unique_lock<std::mutex>& lock);
  // False if that is more than the client may leave unread.
  bool append(std::string_view piece);
  void cut(std::unique_lock<std::mutex>& lock);
  std::string head_of(const HttpAnswer& answer, std::optional<std::size_t> length) const;

  mutable std::mutex mutex_;  // Guards all of it.
  Form form_;
  std::shared_ptr<const std::function<void()>> wake_;  // Shared: called without the lock.
  std::shared_ptr<const std::function<void()>> cut_;
  std::function<void()> on_gone_;
  std::string head_;    // Or a whole answer.
  std::string pieces_;  // That wait; one chunk, however many they are.
  bool begun_ = false;
  bool ends_in_chunk_ = false;  // The empty one, which has not been taken.
  bool ended_ = false;
  bool closed_ = false;
  bool woken_ = false;
};

}  // namespace semfuse
