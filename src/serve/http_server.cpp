#include "serve/http_connection.h"

#include <fmt/format.h>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <list>

#include "core/lower_case.h"
#include "semfuse/error.h"
#include "serve/error_answer.h"
#include "serve/http_server.h"
#include "serve/request_target.h"

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

// Pieces that follow the last ones sooner than this wait for others: 30 writes a second are as good as more to who
// reads them, and a busy server writes less often. Head and first token, and the end of an answer never wait. Pauses
// that end within the slack end together, which wakes the server's thread less often.
constexpr std::chrono::milliseconds kPause(32);
constexpr std::chrono::milliseconds kSlack(8);

// Of a connection: what the longest head may leave unread of the body behind it, or of chunks and trailers.
constexpr std::size_t kReadBlock = 16 * 1024;
// Of what the system takes at once. It says that there is room again when a third is free, so that a reader who takes
// 3 KB a second is seen to do so.
constexpr int kSendBuffer = 128 * 1024;
// An answer that ends so soon after the client has closed its side still goes out.
constexpr std::chrono::milliseconds kHalfClosed(1000);

// Whether the client has sent what is no HTTP, rather than gone away.
bool is_bad_request(error_code error) {
  return error.category() == make_error_code(http::error::bad_method).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

}  // namespace

HttpConnection::HttpConnection(HttpShared& shared, tcp::socket socket)
    : shared_(shared), stream_(std::move(socket)), buffer_(shared.limits.head_bytes + kReadBlock) {
  error_code ignored;
  stream_.socket().set_option(asio::socket_base::send_buffer_size(kSendBuffer), ignored);
  stream_.socket().set_option(tcp::no_delay(true), ignored);
  stream_.socket().non_blocking(true, ignored);
  const auto end = stream_.socket().remote_endpoint(ignored);
  client_ = ignored ? "" : end.address().to_string();
  shared_.connections.insert(this);
  ++shared_.num_connections;
}

HttpConnection::~HttpConnection() {
  shared_.connections.erase(this);
  --shared_.num_connections;
}

void HttpConnection::close_if_idle(std::chrono::steady_clock::time_point now) {
  if (!exchange_ && waits_since_ && now - *waits_since_ > shared_.limits.idle) close();
  if (exchange_ && half_closed_since_ && !last_ && now - *half_closed_since_ > kHalfClosed) close();
}

// An idle connection keeps no buffer: it only waits for a first byte.
void HttpConnection::wait_for_request(std::chrono::milliseconds patience) {
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

void HttpConnection::read_head() {
  waits_since_.reset();
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(shared_.limits.head_bytes));
  parser_->body_limit(shared_.limits.body_bytes);
  stream_.expires_after(shared_.limits.request);
  http::async_read_header(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
    if (error) return self->refuse_error(error);
    self->check_head();
  });
}

void HttpConnection::check_head() {
  const auto& head = parser_->get();
  if (head.version() >= 11 && head.count(http::field::host) == 0) {
    return refuse(400, "the request has no Host header; send one");
  }
  const auto encoding = head.find(http::field::transfer_encoding);
  if (encoding != head.end() &&
      (head.count(http::field::transfer_encoding) > 1 || !is_chunked_alone(view(encoding->value())))) {
    return refuse(501,
                  "the body comes in a Transfer-Encoding that this server does not read; send chunked, or a length");
  }
  if (!beast::iequals(head[http::field::expect], "100-continue")) return read_body();
  asio::async_write(stream_, asio::buffer("HTTP/1.1 100 Continue\r\n\r\n", 25),
                    [self = shared_from_this()](error_code failed, std::size_t) {
                      if (failed) return self->close();
                      self->read_body();
                    });
}

void HttpConnection::read_body() {
  http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
    if (error) return self->refuse_error(error);
    self->answer();
  });
}

// What no length counts, such as extensions of chunks and trailers, is read as a whole into the buffer, and ends there.
void HttpConnection::refuse_error(error_code error) {
  if (error == http::error::header_limit) return refuse(431, "the head of the request is too long");
  if (error == http::error::buffer_overflow) return refuse(431, "a chunk's head or the trailer is too long");
  if (error == http::error::body_limit) return refuse(413, "the body of the request is too long");
  if (is_bad_request(error)) return refuse(400, "the request is not HTTP/1.1: " + error.message());
  close();
}

void HttpConnection::begin_answer(AnswerBytes::Form form) {
  form.most_unread = shared_.limits.unread_bytes;
  const auto self = shared_from_this();
  exchange_ = std::make_shared<AnswerBytes>(
      form, [self] { self->shared_.add_ready(self); },
      [self] { asio::post(self->shared_.context, [self] { self->close(); }); });
}

// Of what is no request: the connection cannot go on, as nobody knows where the next one begins.
void HttpConnection::refuse(unsigned status, std::string_view message) {
  refused_ = true;
  begin_answer({});
  exchange_->send(error_answer(ApiError(status, std::string(message))));
}

void HttpConnection::answer() {
  auto message = parser_->release();
  parser_.reset();
  const bool keep = message.keep_alive() && !shared_.closing;
  const bool is_head = message.method() == http::verb::head;
  HttpRequest request{.method = std::string(view(message.method_string())), .client = client_};
  const std::optional<RequestTarget> target = request_target(request.method, view(message.target()));
  if (!target) return refuse(400, "the request line names no path; write it as GET /health HTTP/1.1");
  request.path = target->path;
  if (!target->host.empty()) message.set(http::field::host, target->host);
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
    exchange->send(error_answer(ApiError(500, "the server failed; try again")));
  }
}

// While an answer is made, reading tells whether the client is still there. One that has closed its side may only have
// nothing more to send, or be gone: it is given a moment. What it sends meanwhile waits for its turn; then nothing is
// read until that comes.
void HttpConnection::watch() {
  if (watching_ || buffer_.size() > 0) return;
  watching_ = true;
  stream_.expires_never();
  stream_.async_read_some(buffer_.prepare(1024), [self = shared_from_this()](error_code error, std::size_t size) {
    self->watching_ = false;
    if (error) {
      if (self->exchange_ && self->last_) return;  // The answer is complete and being written.
      if (self->exchange_ && error == asio::error::eof) {
        self->half_closed_since_ = std::chrono::steady_clock::now();
        return;
      }
      return self->close();
    }
    self->buffer_.commit(size);
    if (!self->exchange_) self->read_head();
  });
}

void HttpConnection::flush() {
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

void HttpShared::add_ready(std::shared_ptr<HttpConnection> connection) {
  {
    const std::lock_guard lock(mutex);
    ready.push_back(std::move(connection));
    if (ready.size() > 1) return;
  }
  asio::post(context, [this] { flush_ready(); });
}

void HttpShared::flush_ready() {
  std::vector<std::shared_ptr<HttpConnection>> all;
  {
    const std::lock_guard lock(mutex);
    all.swap(ready);
  }
  for (const auto& connection : all) connection->flush();
}

// After each write but the last: who writes pieces meanwhile wakes nobody.
void HttpConnection::pause() {
  if (end_of_pause_) return;
  end_of_pause_ = std::chrono::steady_clock::now() + kPause;
  shared_.pauses.push_back({.connection = weak_from_this(), .end = *end_of_pause_});
  if (shared_.pauses.size() == 1) shared_.wait_for_pauses();
}

void HttpShared::wait_for_pauses() {
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

void HttpConnection::write() {
  error_code error;
  const std::size_t size = stream_.socket().send(asio::buffer(writing_), 0, error);
  if (error && error != asio::error::would_block) return close();
  if (size == writing_.size()) return written();
  is_writing_ = true;
  write_rest(size);
}

// Each time that the client has read some of it, it has as long again for more.
void HttpConnection::write_rest(std::size_t from) {
  stream_.expires_after(shared_.limits.write);
  stream_.async_write_some(asio::buffer(writing_) + from,
                           [self = shared_from_this(), from](error_code failed, std::size_t size) {
                             if (!failed && from + size < self->writing_.size()) return self->write_rest(from + size);
                             self->is_writing_ = false;
                             if (failed) return self->close();
                             self->written();
                           });
}

void HttpConnection::written() {
  if (last_) return next();
  flush();
}

void HttpConnection::next() {
  std::exchange(exchange_, nullptr)->close();
  end_of_pause_.reset();
  std::string().swap(writing_);
  if (refused_) return let_client_read();
  if (!keep_ || shared_.closing || half_closed_since_) return close();
  if (!watching_) return wait_for_request(shared_.limits.idle);
  // The read that watches is the one that waits.
  keep_ = last_ = false;
  waits_since_ = std::chrono::steady_clock::now();
}

// A socket that is closed with bytes unread resets the connection, and the client may never see why it was refused.
void HttpConnection::let_client_read() {
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

void HttpConnection::close() {
  error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
  stream_.close();
  if (const std::shared_ptr<AnswerBytes> exchange = std::exchange(exchange_, nullptr)) exchange->close();
}

struct HttpServer::State : HttpShared {
  explicit State() : acceptor(context) {}
  void accept();
  // To be closed, which takes them out of the set.
  std::vector<std::shared_ptr<HttpConnection>> open_connections() const {
    std::vector<std::shared_ptr<HttpConnection>> open;
    for (HttpConnection* const each : connections) {
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
      const std::shared_ptr<HttpConnection> made(
          new HttpConnection(*this, std::move(socket)), [this](HttpConnection* connection) {
            asio::dispatch(context, [owned = std::unique_ptr<HttpConnection>(connection)] {});
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
