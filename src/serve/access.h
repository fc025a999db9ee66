// Who may ask the server: keys, the Host that a request is for, and the pages that may send it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http_exchange.h"
#include "wire/api_error.h"

namespace semfuse {

struct AccessOptions {
  std::vector<std::string> keys = {};     // Empty: everyone may.
  std::vector<std::string> origins = {};  // Of pages elsewhere that may; "*": of all.
  std::string host = "127.0.0.1";         // That the server listens on.
};

// Immutable; may be used from several threads at once.
class Access {
 public:
  explicit Access(AccessOptions options) : options_(std::move(options)) {}

  // Whether the request is for this server and from a page that may ask it. Without keys, a page elsewhere could lead a
  // name of its own here ("rebinding"), so then names other than this machine's are refused. Throws ApiError.
  void check_origin(const HttpRequest& request) const;
  // Throws ApiError, 401, unless the request has one of the keys, if there are any. The time that it takes does not
  // depend on how much of a key is right.
  void check_key(const HttpRequest& request) const;

  // What lets a page of that origin read the answer.
  HttpHeaders cors_headers(const HttpRequest& request) const;

 private:
  bool is_own_host(std::string_view host) const;
  bool is_allowed(std::string_view origin) const;

  AccessOptions options_;
};

// Whether two texts are equal, in a time that depends on their lengths alone.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// Throws Error unless it is "*" or what browsers send of a page: a scheme and a host in lower case, perhaps a port.
void check_origin_name(std::string_view origin);

// One key a line; empty lines and those that begin with # are passed over. Throws Error if there is none.
std::vector<std::string> parse_keys(std::string_view text, std::string_view origin);

}  // namespace semfuse
