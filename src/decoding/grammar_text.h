// The text of a grammar with its name, for messages that say where.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace semfuse {

struct GrammarText {
  std::string_view text;
  std::string_view origin;

  // Throws Error "origin:line:column: what"; lines and columns count from 1, columns in characters.
  [[noreturn]] void fail(std::size_t offset, const std::string& what) const;
  std::size_t line_of(std::size_t offset) const;
};

}  // namespace semfuse
