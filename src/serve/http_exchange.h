// A request of a client as the server has read it, and the way back to the client. Knows nothing of sockets.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace semfuse {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;   // "POST"
  std::string path;     // Without the query, as it was sent: "/v1/models".
  std::string client;   // Its address, for the log.
  HttpHeaders headers;  // Names in lower case.
  std::string body;

  // Its value; empty if there is none.
  std::string_view header(std::string_view lower_case_name) const;
};

struct HttpAnswer {
  unsigned status = 200;
  std::string body;
  std::string content_type = "application/json";
  HttpHeaders headers = {};  // Besides type and length of the body.
};

// Where the answer to one request goes. All functions may be called from any thread; those that come after the end, or
// after the client has gone, do nothing. Must be answered.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;

  // The whole answer.
  virtual void send(HttpAnswer answer) = 0;

  // An answer whose length is not known: begin (its body is ignored; the head goes out with the first piece), then any
  // number of pieces, then the last one, which may be empty. Pieces are kept until the client has read them; a client
  // that leaves too many of them unread is cut off.
  virtual void begin(HttpAnswer head) = 0;
  virtual void write(std::string_view piece) = 0;
  virtual void end(std::string_view last_piece) = 0;

  // What to do if the client goes away before the answer has ended; called once, at once if it has gone.
  virtual void on_gone(std::function<void()> callback) = 0;
};

}  // namespace semfuse
