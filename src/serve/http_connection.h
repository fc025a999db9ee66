// The connections of an HttpServer. For http_server.cpp alone, which sees Boost: its headers take half a minute to
// compile.
#pragma once

#include <utility>  // Boost 1.74 lacks it.

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "serve/answer_bytes.h"
#include "serve/http_server.h"

namespace semfuse {

class HttpConnection;

// What all connections share; used on the server's thread but for the count.
struct HttpShared {
  HttpLimits limits;
  HttpServer::Handler handler;
  std::set<HttpConnection*> connections;
  std::atomic<std::size_t> num_connections = 0;
  bool closing = false;
  struct Pause {
    std::weak_ptr<HttpConnection> connection;
    std::chrono::steady_clock::time_point end;
  };
  std::deque<Pause> pauses;            // The one that ends first is the first.
  boost::asio::io_context context{1};  // After these: what it still holds at its end are connections.
  boost::asio::steady_timer end_of_pause{context};
  // That have something to be written, told by any thread; one task of the context serves all of them.
  std::mutex mutex;  // Guards them.
  std::vector<std::shared_ptr<HttpConnection>> ready;

  void add_ready(std::shared_ptr<HttpConnection> connection);
  void flush_ready();
  void wait_for_pauses();
};

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(HttpShared& shared, boost::asio::ip::tcp::socket socket);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void start() { wait_for_request(shared_.limits.request); }
  // The server ends: at once if nothing is being answered.
  void close_when_answered() {
    if (!exchange_) close();
  }
  void close();
  // Closes it if it has waited for a request for too long, or the client does not wait for the answer.
  void close_if_idle(std::chrono::steady_clock::time_point now);
  // Of one that ends then, unless its answer ended before.
  void end_pause(std::chrono::steady_clock::time_point end) {
    if (end_of_pause_ != end) return;
    end_of_pause_.reset();
    flush();
  }
  void flush();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void wait_for_request(std::chrono::milliseconds patience);
  void read_head();
  void read_body();
  void check_head();
  void refuse_error(boost::system::error_code error);
  void refuse(unsigned status, std::string_view message);
  void begin_answer(AnswerBytes::Form form);
  void answer();
  void watch();
  void pause();
  // As much as the client takes at once, and the rest when it takes more.
  void write();
  void write_rest(std::size_t from);
  void written();
  void next();
  void let_client_read();

  HttpShared& shared_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::string client_;
  std::shared_ptr<AnswerBytes> exchange_;  // Held by its handler too; holds the connection until it is closed.
  std::string writing_;
  bool is_writing_ = false;
  bool watching_ = false;
  bool keep_ = false;
  bool last_ = false;
  bool refused_ = false;
  std::size_t num_discarded_ = 0;
  std::optional<std::chrono::steady_clock::time_point> waits_since_;
  std::optional<std::chrono::steady_clock::time_point> half_closed_since_;
  std::optional<std::chrono::steady_clock::time_point> end_of_pause_;
};

}  // namespace semfuse
