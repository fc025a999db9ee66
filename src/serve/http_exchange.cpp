#include "serve/http_exchange.h"

#include <algorithm>

namespace semfuse {

std::string_view HttpRequest::header(std::string_view lower_case_name) const {
  const auto found = std::ranges::find(headers, lower_case_name, &std::pair<std::string, std::string>::first);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace semfuse
