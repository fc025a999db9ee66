// What is wrong with a request, as it is answered.
#pragma once

#include <exception>
#include <string>

#include "serve/http_exchange.h"
#include "wire/api_error.h"

namespace semfuse {

// With the headers that belong to its status.
HttpAnswer error_answer(const ApiError& error);
// Why a session says that a text failed. It says so in words alone; those of the standard library are about the server.
ApiError text_error(const std::string& message);
// What was thrown while an answer was made: 400 of an Error, 500 of what is no fault of the request.
HttpAnswer error_answer(const std::exception_ptr& thrown);

}  // namespace semfuse
