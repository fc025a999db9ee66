#include "serve/access.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/lower_case.h"
#include "core/text_lines.h"
#include "io/quoted_text.h"

namespace semfuse {

namespace {

// "localhost:8080" is "localhost", "[::1]:8080" is "[::1]".
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

bool is_address(std::string_view host) {
  return host.starts_with('[') || std::ranges::all_of(host, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  // Every byte of `a` is compared, with some byte of `b`.
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const unsigned char other = b.empty() ? 0 : static_cast<unsigned char>(b[i % b.size()]);
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ other);
  }
  return difference == 0;
}

bool Access::is_own_host(std::string_view host) const {
  const std::string name = lower_case(without_port(host));
  return !name.empty() &&
         (is_address(name) || name == "localhost" || name.ends_with(".localhost") || name == lower_case(options_.host));
}

bool Access::is_allowed(std::string_view origin) const {
  return std::ranges::any_of(options_.origins, [&](const std::string& each) { return each == "*" || each == origin; });
}

void Access::check_origin(const HttpRequest& request) const {
  const std::string_view host = request.header("host");
  if (std::ranges::count(request.headers, "host", &HttpHeaders::value_type::first) > 1) {
    throw ApiError(400, "the request has two Host headers; send one");
  }
  if (options_.keys.empty() && !is_own_host(host)) {
    throw ApiError(
        403, fmt::format("the host {} is not this server; use its address, or start it with a key", quoted_text(host)));
  }
  const std::string_view origin = request.header("origin");
  if (origin.empty() || is_allowed(origin)) return;
  const std::size_t scheme = origin.find("://");
  if (scheme != origin.npos && origin.substr(scheme + 3) == host) return;
  throw ApiError(403, fmt::format("pages of {} may not ask this server; allow them with --cors", quoted_text(origin)));
}

void Access::check_key(const HttpRequest& request) const {
  if (options_.keys.empty()) return;
  std::string_view given = request.header("authorization");
  if (lower_case(given.substr(0, 7)) == "bearer ") {
    given.remove_prefix(7);
  } else {
    given = request.header("x-api-key");
  }
  bool known = false;
  for (const std::string& key : options_.keys) known |= equal_in_constant_time(key, given);
  if (known) return;
  throw ApiError(
      401,
      given.empty() ? "this server wants a key, as Authorization: Bearer KEY" : "the key is not one of this server's",
      "", "invalid_api_key");
}

HttpHeaders Access::cors_headers(const HttpRequest& request) const {
  const std::string_view origin = request.header("origin");
  if (options_.origins.empty()) return {};
  HttpHeaders headers = {{"Vary", "Origin"}};  // Of every answer: who keeps one for all would give it to another page.
  if (!origin.empty() && is_allowed(origin)) headers.emplace_back("Access-Control-Allow-Origin", origin);
  return headers;
}

void check_origin_name(std::string_view origin) {
  const std::size_t scheme = origin.find("://");
  const std::string_view host = scheme == origin.npos ? std::string_view() : origin.substr(scheme + 3);
  const bool good =
      scheme != 0 && !host.empty() && host.find_first_of("/?#@* ") == host.npos && lower_case(origin) == origin;
  if (good || origin == "*") return;
  throw Error(
      fmt::format("--cors {}: no page has that origin; write it as https://example.org, in lower case and "
                  "without a path, or * for all",
                  quoted_text(origin)));
}

std::vector<std::string> parse_keys(std::string_view text, std::string_view origin) {
  std::vector<std::string> keys;
  text = without_byte_order_mark(text);
  while (!text.empty()) {
    std::string_view line = take_line(text);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    if (!line.empty() && line.front() != '#') keys.emplace_back(line);
  }
  if (keys.empty()) throw Error(fmt::format("{}: there is no key in it; write one a line", origin));
  return keys;
}

}  // namespace semfuse
