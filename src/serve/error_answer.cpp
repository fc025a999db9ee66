#include "serve/error_answer.h"

namespace semfuse {

HttpAnswer error_answer(const ApiError& error) {
  HttpAnswer answer{.status = error.status(), .body = error.json().dump()};
  if (error.status() == 429 || error.status() == 503) answer.headers.emplace_back("Retry-After", "1");
  if (error.status() == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

ApiError text_error(const std::string& message) {
  for (const char* const begin : {"std::", "vector::", "basic_string::"}) {
    if (message.starts_with(begin)) return {500, "the server failed; try again"};
  }
  return {400, message, message.starts_with("prompt:") ? "prompt" : ""};
}

HttpAnswer error_answer(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ApiError& error) {
    return error_answer(error);
  } catch (const Error& error) {
    return error_answer(ApiError(400, error.what()));
  } catch (...) {
    return error_answer(ApiError(500, "the server failed; try again"));
  }
}

}  // namespace semfuse
