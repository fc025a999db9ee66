#include "serve/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace semfuse {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kPost = "POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";

// A plain client; what it cannot send or read is not there.
class PlainClient {
 public:
  explicit PlainClient(std::uint16_t port, int receive_buffer = 0) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) {
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    }
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  ~PlainClient() { ::close(socket_); }
  PlainClient(const PlainClient&) = delete;
  PlainClient& operator=(const PlainClient&) = delete;

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void close_own_side() { ::shutdown(socket_, SHUT_WR); }
  // At most so many bytes; empty at the end.
  std::string read(std::size_t most) {
    std::string bytes(most, '\0');
    const ssize_t size = ::recv(socket_, bytes.data(), most, 0);
    bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return bytes;
  }
  std::string read_all() {
    std::string all;
    for (std::string part = read(1 << 16); !part.empty(); part = read(1 << 16)) all += part;
    return all;
  }

 private:
  int socket_;
};

// Answers with the path and the body of the request; /large with 8 MB, /later after 100 ms.
class HttpServerTest : public testing::Test {
 protected:
  static constexpr std::size_t kLarge = std::size_t{8} << 20;

  HttpServerTest() : thread_([this] { server_.run(); }) {}
  ~HttpServerTest() override {
    server_.stop();
    thread_.join();
    for (std::thread& each : later_) each.join();
  }

  std::string answer_to(const std::string& request) {
    PlainClient client(server_.port());
    client.send(request);
    return client.read_all();
  }

  HttpServer server_{
      "127.0.0.1",
      0,
      {.write = std::chrono::milliseconds(1000)},
      [this](const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
        if (request.path == "/large") return exchange->send({.body = std::string(kLarge, 'x')});
        if (request.path == "/later") {
          later_.emplace_back([exchange] {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            exchange->send({.body = "later"});
          });
          return;
        }
        exchange->send({.body = request.path + " of " + std::string(request.header("host")) + " " + request.body});
      }};
  std::vector<std::thread> later_;  // Of the server's thread until that has ended.
  std::thread thread_;
};

TEST_F(HttpServerTest, WhatNoLengthCountsIsBounded) {
  const std::string head = std::string(kPost) + "Transfer-Encoding: chunked\r\n\r\n";
  const std::string much(200'000, 'a');
  EXPECT_THAT(answer_to(head + "1;" + much), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(answer_to(head + std::string(200'000, '0')), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(answer_to(head + "1\r\nx\r\n0\r\nX: " + much), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(answer_to(head + "1;a=b\r\nx\r\n0\r\nX: y\r\n\r\n"), HasSubstr("/echo of localhost x"));
  const std::string body(1 << 20, 'b');
  EXPECT_THAT(answer_to(std::string(kPost) + "Content-Length: 1048576\r\n\r\n" + body), HasSubstr(body));
}

TEST_F(HttpServerTest, ASteadyReaderIsNotCutHoweverLongItTakes) {
  PlainClient client(server_.port(), 1 << 16);
  client.send("GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const auto began = std::chrono::steady_clock::now();
  std::size_t size = 0;
  for (std::string part = client.read(1 << 15); !part.empty(); part = client.read(1 << 15)) {
    size += part.size();
    std::this_thread::sleep_for(std::chrono::milliseconds(8));
  }
  EXPECT_GT(size, kLarge);
  EXPECT_GT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(1500));
}

TEST_F(HttpServerTest, AClientThatClosedItsSideIsAnswered) {
  for (const std::string path : {"/echo", "/later"}) {
    PlainClient client(server_.port());
    client.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.close_own_side();
    EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 200 ")) << path;
  }
}

TEST_F(HttpServerTest, ReadsTargetsOfBothForms) {
  const auto answer = [&](const std::string& target) {
    return answer_to("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  };
  EXPECT_THAT(answer("/a?b"), HasSubstr("/a of localhost"));
  EXPECT_THAT(answer("http://other:80/a?b"), HasSubstr("/a of other:80"));
  EXPECT_THAT(answer("HTTP://other"), HasSubstr("/ of other"));
  for (const char* const target : {"?x", "x", "*", "http://", "http:///a", "ftp://other/a"}) {
    EXPECT_THAT(answer(target), StartsWith("HTTP/1.1 400 ")) << target;
  }
}

TEST_F(HttpServerTest, BodiesInOtherEncodingsAreRefused) {
  for (const char* const encoding : {"gzip, chunked", "identity", "gzip"}) {
    EXPECT_THAT(answer_to(std::string(kPost) + "Transfer-Encoding: " + encoding + "\r\n\r\n0\r\n\r\n"),
                StartsWith("HTTP/1.1 501 "))
        << encoding;
  }
}

}  // namespace
}  // namespace semfuse
