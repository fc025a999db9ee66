// The only file that sees Boost: its headers take half a minute to compile.
#include <utility>  // Boost 1.74 lacks it.

#include "serve/http_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "core/lower_case.h"
#include "semfuse/error.h"
#include "serve/answer_bytes.h"

namespace semfuse {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = boost::asio::ip::tcp;
using boost::system::error_code;

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

class Connection;

// Pieces that follow the last ones sooner than this wait for others: 30 writes a second are as good as more to who
// reads them, and a busy server writes less often. Head and first token, and the end of an answer never wait. Pauses
// that end within the slack end together, which wakes the server's thread less often.
constexpr std::chrono::milliseconds kPause(32);
constexpr std::chrono::milliseconds kSlack(8);

// What all connections share; used on the server's thread but for the count.
struct Shared {
  HttpLimits limits;
  HttpServer::Handler handler;
  std::set<Connection*> connections;
  std::atomic<std::size_t> num_connections = 0;
  bool closing = false;
  struct Pause {
    std::weak_ptr<Connection> connection;
    std::chrono::steady_clock::time_point end;
  };
  std::deque<Pause> pauses;     // The one that ends first is the first.
  asio::io_context context{1};  // After these: what it still holds at its end are connections.
  asio::steady_timer end_of_pause{context};
  // That have something to be written, told by any thread; one task of the context serves all of them.
  std::mutex mutex;  // Guards them.
  std::vector<std::shared_ptr<Connection>> ready;

  void add_ready(std::shared_ptr<Connection> connection);
  void flush_ready();
  void wait_for_pauses();
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Shared& shared, tcp::socket socket) : shared_(shared), stream_(std::move(socket)) {
    error_code ignored;
    stream_.socket().set_option(tcp::no_delay(true), ignored);
    stream_.socket().non_blocking(true, ignored);
    const auto end = stream_.socket().remote_endpoint(ignored);
    client_ = ignored ? "" : end.address().to_string();
    shared_.connections.insert(this);
    ++shared_.num_connections;
  }
  ~Connection() {
    shared_.connections.erase(this);
    --shared_.num_connections;
  }

  void start() { wait_for_request(shared_.limits.request); }
  // The server ends: at once if nothing is being answered.
  void close_when_answered() {
    if (!exchange_) close();
  }
  void close();
  // Of one that waits for a request: closes it if it has done so for too long.
  void close_if_idle(std::chrono::steady_clock::time_point now) {
    if (!exchange_ && waits_since_ && now - *waits_since_ > shared_.limits.idle) close();
  }
  // Of one that ends then, unless its answer ended before.
  void end_pause(std::chrono::steady_clock::time_point end) {
    if (end_of_pause_ != end) return;
    end_of_pause_.reset();
    flush();
  }
  void flush();

 private:
  using Parser = http::request_parser<http::string_body>;

  void wait_for_request(std::chrono::milliseconds patience);
  void read_head();
  void read_body();
  void refuse(unsigned status, std::string_view message);
  void begin_answer(AnswerBytes::Form form);
  void answer();
  void watch();
  void pause();
  // As much as the client takes at once, and the rest when it takes more.
  void write();
  void written();
  void next();
  void let_client_read();

  Shared& shared_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
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
  std::optional<std::chrono::steady_clock::time_point> end_of_pause_;
};

// Whether the client has sent what is no HTTP, rather than gone away.
bool is_bad_request(error_code error) {
  return error.category() == make_error_code(http::error::bad_method).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

// An idle connection keeps no buffer: it only waits for a first byte.
void Connection::wait_for_request(std::chrono::milliseconds patience) {
  keep_ = last_ = false;
  if (shared_.closing) return close();
  if (buffer_.size() > 0) return read_head();  // Pipelined.
  buffer_.shrink_to_fit();
  stream_.expires_after(patience);
  stream_.async_read_some(buffer_.prepare(1024), [self = shared_from_this()](error_code error, std::size_t size) {
    if (error) return self->close();
    self->buffer_.commit(size);
    self->read_head();
  });
}

void Connection::read_head() {
  waits_since_.reset();
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(shared_.limits.head_bytes));
  parser_->body_limit(shared_.limits.body_bytes);
  stream_.expires_after(shared_.limits.request);
  http::async_read_header(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
    if (error == http::error::header_limit) return self->refuse(431, "the head of the request is too long");
    if (error == http::error::body_limit) return self->refuse(413, "the body of the request is too long");
    if (is_bad_request(error)) return self->refuse(400, "the request is not HTTP/1.1: " + error.message());
    if (error) return self->close();
    const auto& head = self->parser_->get();
    if (head.version() >= 11 && head.count(http::field::host) == 0) {
      return self->refuse(400, "the request has no Host header; send one");
    }
    if (!beast::iequals(head[http::field::expect], "100-continue")) return self->read_body();
    asio::async_write(self->stream_, asio::buffer("HTTP/1.1 100 Continue\r\n\r\n", 25),
                      [self](error_code failed, std::size_t) {
                        if (failed) return self->close();
                        self->read_body();
                      });
  });
}

void Connection::read_body() {
  http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
    if (error == http::error::body_limit) return self->refuse(413, "the body of the request is too long");
    if (is_bad_request(error)) return self->refuse(400, "the request is not HTTP/1.1: " + error.message());
    if (error) return self->close();
    self->answer();
  });
}

void Connection::begin_answer(AnswerBytes::Form form) {
  form.most_unread = shared_.limits.unread_bytes;
  const auto self = shared_from_this();
  exchange_ = std::make_shared<AnswerBytes>(
      form, [self] { self->shared_.add_ready(self); },
      [self] { asio::post(self->shared_.context, [self] { self->close(); }); });
}

// Of what is no request: the connection cannot go on, as nobody knows where the next one begins.
void Connection::refuse(unsigned status, std::string_view message) {
  refused_ = true;
  begin_answer({});
  exchange_->send({.status = status,
                   .body = fmt::format(R"({{"error":{{"message":"{}","type":"invalid_request_error","param":null,)"
                                       R"("code":null}}}})",
                                       message)});
}

void Connection::answer() {
  auto message = parser_->release();
  parser_.reset();
  const bool keep = message.keep_alive() && !shared_.closing;
  const bool is_head = message.method() == http::verb::head;
  HttpRequest request{.method = std::string(view(message.method_string())), .client = client_};
  const std::string_view target = view(message.target());
  request.path = std::string(target.substr(0, target.find('?')));
  for (const auto& field : message) {
    request.headers.emplace_back(lower_case(view(field.name_string())), std::string(view(field.value())));
  }
  request.body = std::move(message.body());
  begin_answer({.keep = keep, .chunks = message.version() >= 11, .is_head = is_head});
  const std::shared_ptr<AnswerBytes> exchange = exchange_;
  watch();
  try {
    shared_.handler(std::move(request), exchange);
  } catch (const std::exception&) {
    exchange->send(
        {.status = 500,
         .body = R"({"error":{"message":"the server failed","type":"server_error","param":null,"code":null}})"});
  }
}

// While an answer is made, reading tells whether the client is still there. One that has closed its side is taken to
// be gone. What it sends meanwhile waits for its turn; then nothing is read until that comes.
void Connection::watch() {
  if (watching_ || buffer_.size() > 0) return;
  watching_ = true;
  stream_.expires_never();
  stream_.async_read_some(buffer_.prepare(1024), [self = shared_from_this()](error_code error, std::size_t size) {
    self->watching_ = false;
    if (error) {
      if (self->exchange_ && self->last_) return;  // The answer is complete and being written.
      return self->close();
    }
    self->buffer_.commit(size);
    if (!self->exchange_) self->read_head();
  });
}

void Connection::flush() {
  if (is_writing_ || !exchange_) return;
  if (end_of_pause_ && !exchange_->has_ended()) return;
  AnswerBytes::Output output = exchange_->take();
  writing_ = std::move(output.bytes);
  last_ = output.last;
  keep_ = output.keep;
  if (writing_.empty()) {
    if (last_) next();
    return;
  }
  if (!last_) pause();
  write();
}

void Shared::add_ready(std::shared_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex);
    ready.push_back(std::move(connection));
    if (ready.size() > 1) return;
  }
  asio::post(context, [this] { flush_ready(); });
}

void Shared::flush_ready() {
  std::vector<std::shared_ptr<Connection>> all;
  {
    const std::lock_guard lock(mutex);
    all.swap(ready);
  }
  for (const auto& connection : all) connection->flush();
}

// After each write but the last: who writes pieces meanwhile wakes nobody.
void Connection::pause() {
  if (end_of_pause_) return;
  end_of_pause_ = std::chrono::steady_clock::now() + kPause;
  shared_.pauses.push_back({.connection = weak_from_this(), .end = *end_of_pause_});
  if (shared_.pauses.size() == 1) shared_.wait_for_pauses();
}

void Shared::wait_for_pauses() {
  end_of_pause.expires_at(pauses.front().end);
  end_of_pause.async_wait([this](error_code) {
    const auto now = std::chrono::steady_clock::now();
    std::vector<Pause> ended;
    while (!pauses.empty() && pauses.front().end <= now + kSlack) {
      ended.push_back(std::move(pauses.front()));
      pauses.pop_front();
    }
    if (!pauses.empty()) wait_for_pauses();
    for (const Pause& pause : ended) {
      if (const auto connection = pause.connection.lock()) connection->end_pause(pause.end);
    }
  });
}

void Connection::write() {
  error_code error;
  const std::size_t size = stream_.socket().send(asio::buffer(writing_), 0, error);
  if (error && error != asio::error::would_block) return close();
  if (size == writing_.size()) return written();
  is_writing_ = true;
  stream_.expires_after(shared_.limits.write);
  asio::async_write(stream_, asio::buffer(writing_) + size,
                    [self = shared_from_this()](error_code failed, std::size_t) {
                      self->is_writing_ = false;
                      if (failed) return self->close();
                      self->written();
                    });
}

void Connection::written() {
  if (last_) return next();
  flush();
}

void Connection::next() {
  std::exchange(exchange_, nullptr)->close();
  end_of_pause_.reset();
  std::string().swap(writing_);
  if (refused_) return let_client_read();
  if (!keep_ || shared_.closing) return close();
  if (!watching_) return wait_for_request(shared_.limits.idle);
  // The read that watches is the one that waits.
  keep_ = last_ = false;
  waits_since_ = std::chrono::steady_clock::now();
}

// A socket that is closed with bytes unread resets the connection, and the client may never see why it was refused.
void Connection::let_client_read() {
  constexpr std::size_t kMostDiscarded = std::size_t{4} << 20;
  error_code ignored;
  if (num_discarded_ == 0) {
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(std::chrono::seconds(2));
  }
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(16 * 1024), [self = shared_from_this()](error_code error, std::size_t size) {
    self->num_discarded_ += size;
    if (error || self->num_discarded_ > kMostDiscarded) return self->close();
    self->let_client_read();
  });
}

void Connection::close() {
  error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
  stream_.close();
  if (const std::shared_ptr<AnswerBytes> exchange = std::exchange(exchange_, nullptr)) exchange->close();
}

}  // namespace

struct HttpServer::State : Shared {
  explicit State() : acceptor(context) {}
  void accept();
  // To be closed, which takes them out of the set.
  std::vector<std::shared_ptr<Connection>> open_connections() const {
    std::vector<std::shared_ptr<Connection>> open;
    for (Connection* const each : connections) {
      if (auto connection = each->weak_from_this().lock()) open.push_back(std::move(connection));
    }
    return open;
  }

  tcp::acceptor acceptor;
  struct Ticker {
    asio::steady_timer timer;
    std::chrono::milliseconds interval;
    std::function<void()> task;
    void start() {
      timer.expires_after(interval);
      timer.async_wait([this](error_code error) {
        if (error) return;
        task();
        start();
      });
    }
  };
  std::list<Ticker> tickers;
};

void HttpServer::State::accept() {
  acceptor.async_accept([this](error_code error, tcp::socket socket) {
    if (!acceptor.is_open()) return;
    if (!error && num_connections < limits.connections) {
      // The last to let go of it may be a thread that writes answers, but what connections share is this thread's
      // alone.
      const std::shared_ptr<Connection> made(new Connection(*this, std::move(socket)), [this](Connection* connection) {
        asio::dispatch(context, [owned = std::unique_ptr<Connection>(connection)] {});
      });
      made->start();
    } else if (!error) {
      static constexpr std::string_view kFull =
          "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";
      error_code ignored;
      socket.non_blocking(true, ignored);
      socket.send(asio::buffer(kFull.data(), kFull.size()), 0, ignored);
    }
    if (error == asio::error::no_descriptors) {  // Until some connection ends there is nothing to do but wait.
      auto pause = std::make_shared<asio::steady_timer>(context, std::chrono::milliseconds(50));
      pause->async_wait([this, pause](error_code) {
        if (acceptor.is_open()) accept();
      });
      return;
    }
    accept();
  });
}

HttpServer::HttpServer(const std::string& host, std::uint16_t port, const HttpLimits& limits, Handler handler)
    : state_(std::make_unique<State>()) {
  state_->limits = limits;
  state_->handler = std::move(handler);
  error_code error;
  tcp::resolver resolver(state_->context);
  const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error);
  if (error || found.empty()) {
    throw Error(fmt::format("cannot listen on {}: no such address; give one of this machine with --host", host));
  }
  const tcp::endpoint endpoint = found.begin()->endpoint();
  state_->acceptor.open(endpoint.protocol(), error);
  if (!error) state_->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) state_->acceptor.bind(endpoint, error);
  if (!error) state_->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    throw Error(fmt::format("cannot listen on {} port {}: {}; choose another with --host and --port", host, port,
                            error.message()));
  }
}

HttpServer::~HttpServer() {
  // An answer and its connection hold each other until its end.
  for (const auto& connection : state_->open_connections()) connection->close();
}

std::uint16_t HttpServer::port() const {
  return state_->acceptor.local_endpoint().port();
}

void HttpServer::every(std::chrono::milliseconds interval, std::function<void()> task) {
  state_->tickers.push_back(
      {.timer = asio::steady_timer(state_->context), .interval = interval, .task = std::move(task)});
  state_->tickers.back().start();
}

void HttpServer::run() {
  state_->accept();
  every(std::chrono::seconds(1), [state = state_.get()] {
    const auto now = std::chrono::steady_clock::now();
    for (const auto& connection : state->open_connections()) connection->close_if_idle(now);
  });
  state_->context.run();
}

void HttpServer::close_when_answered() {
  asio::post(state_->context, [state = state_.get()] {
    state->closing = true;
    error_code ignored;
    state->acceptor.close(ignored);
    for (const auto& connection : state->open_connections()) connection->close_when_answered();
  });
}

std::size_t HttpServer::num_connections() const {
  return state_->num_connections;
}

void HttpServer::stop() {
  state_->context.stop();
}

}  // namespace semfuse
