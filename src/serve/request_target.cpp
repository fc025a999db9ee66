#include "serve/request_target.h"

#include "core/lower_case.h"

namespace semfuse {

std::optional<RequestTarget> request_target(std::string_view method, std::string_view target) {
  if (method == "OPTIONS" && target == "*") return RequestTarget{.path = "*", .host = ""};
  RequestTarget found;
  constexpr std::string_view kScheme = "http://";
  if (lower_case(target.substr(0, kScheme.size())) == kScheme) {
    target.remove_prefix(kScheme.size());
    found.host = target.substr(0, target.find_first_of("/?"));
    if (found.host.empty()) return std::nullopt;
    target.remove_prefix(found.host.size());
    if (!target.starts_with('/')) {  // "http://localhost" and "http://localhost?x" are of "/".
      found.path = "/";
      return found;
    }
  }
  if (!target.starts_with('/')) return std::nullopt;
  found.path = target.substr(0, target.find('?'));
  return found;
}

bool is_chunked_alone(std::string_view transfer_encoding) {
  return lower_case(transfer_encoding) == "chunked";
}

}  // namespace semfuse
