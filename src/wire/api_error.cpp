#include "wire/api_error.h"

namespace semfuse {

namespace {

std::string_view type_of(unsigned status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    case 503:
      return "unavailable_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

// Messages and names of fields may repeat what was sent, however long that was.
std::string shortened(std::string_view text) {
  constexpr std::size_t kWhole = 1000;
  constexpr std::size_t kBeginning = 600;
  constexpr std::size_t kEnd = 300;
  const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  if (text.size() <= kWhole) return std::string(text);
  std::size_t beginning = kBeginning;
  while (beginning > 0 && continues(beginning)) --beginning;
  std::size_t end = text.size() - kEnd;
  while (end < text.size() && continues(end)) ++end;
  return std::string(text.substr(0, beginning)) + " ... " + std::string(text.substr(end));
}

}  // namespace

Json ApiError::json() const {
  return {{"error", Json{{"message", shortened(what())},
                         {"type", type_of(status_)},
                         {"param", param_.empty() ? Json() : Json(shortened(param_))},
                         {"code", code_.empty() ? Json() : Json(code_)}}}};
}

}  // namespace semfuse
