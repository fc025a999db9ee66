// What a request line asks for, and how the body behind it is sent.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semfuse {

struct RequestTarget {
  std::string path;  // Without the query: "/v1/models".
  std::string host;  // "localhost:8080" of "http://localhost:8080/health", which counts before the Host header.
};

// Of "/path?query" or "http://host/path?query", of OPTIONS also "*"; nothing of anything else.
std::optional<RequestTarget> request_target(std::string_view method, std::string_view target);

// Whether a Transfer-Encoding says chunks and nothing besides.
bool is_chunked_alone(std::string_view transfer_encoding);

}  // namespace semfuse
