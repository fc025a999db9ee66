// The text of a grammar with its name, for messages that say where.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace semfuse {

struct GrammarText {
  std::string_view text;
  std::string_view origin;

  // "origin:line:column"; lines and columns count from 1, columns in characters.
  std::string place(std::size_t offset) const;
  // Throws Error "origin:line:column: what".
  [[noreturn]] void fail(std::size_t offset, const std::string& what) const;
  std::size_t line_of(std::size_t offset) const;
};

}  // namespace semfuse
