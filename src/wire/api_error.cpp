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

}  // namespace

Json ApiError::json() const {
  return {{"error", Json{{"message", what()},
                         {"type", type_of(status_)},
                         {"param", param_.empty() ? Json() : Json(param_)},
                         {"code", code_.empty() ? Json() : Json(code_)}}}};
}

}  // namespace semfuse
