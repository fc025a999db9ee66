// An HTTP/1.1 server: reads whole requests with limits on their size and time, and hands each to a handler.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "serve/http_exchange.h"

namespace semfuse {

struct HttpLimits {
  std::size_t head_bytes = 16 * 1024;               // More is answered with 431.
  std::size_t body_bytes = std::size_t{1} << 20;    // More is answered with 413.
  std::size_t unread_bytes = std::size_t{4} << 20;  // Of an answer, before the client is cut off.
  std::size_t connections = 4096;                   // More are answered with 503 and closed.
  std::chrono::milliseconds request{10'000};        // For a whole request, from its first byte on.
  std::chrono::milliseconds idle{75'000};           // Between requests.
  std::chrono::milliseconds write{30'000};          // Without a byte read by the client.
};

// One thread does all reading and writing (run()); nothing that a client does makes it wait. The handler is called on
// it and must return soon; the answer may come later, from any thread.
class HttpServer {
 public:
  using Handler = std::function<void(HttpRequest request, std::shared_ptr<HttpExchange> exchange)>;

  // Listens at once; port 0 takes any free one. Throws Error if it cannot.
  HttpServer(const std::string& host, std::uint16_t port, const HttpLimits& limits, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;

  // Serves until stop(). What handlers throw is answered with 500.
  void run();

  // Calls `task` on that thread, again and again; to be told before run().
  void every(std::chrono::milliseconds interval, std::function<void()> task);

  // The rest may be called from any thread.

  // Takes no more connections, closes those without a request, and the others after their answer.
  void close_when_answered();
  std::size_t num_connections() const;
  // Ends run(); connections are cut.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace semfuse
