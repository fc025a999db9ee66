// What is wrong with a request to the server, in the shape that OpenAI's clients read.
#pragma once

#include <string>
#include <string_view>

#include "io/json_writer.h"
#include "semfuse/error.h"

namespace semfuse {

class ApiError : public Error {
 public:
  // `param` is the field of the request that is wrong; empty if it is none. `code` may be empty too.
  ApiError(unsigned status, const std::string& message, std::string param = "", std::string code = "")
      : Error(message), status_(status), param_(std::move(param)), code_(std::move(code)) {}

  unsigned status() const { return status_; }
  const std::string& param() const { return param_; }
  // Of long ones the beginning and the end.
  // {"error":{"message":...,"type":...,"param":...,"code":...}}
  Json json() const;

 private:
  unsigned status_;
  std::string param_;
  std::string code_;
};

}  // namespace semfuse
