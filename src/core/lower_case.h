// Letters without their case, for comparing words.
#pragma once

#include <string>
#include <string_view>

namespace semfuse {

// A-Z become a-z; every other byte stays, so places in the text do too.
inline char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = lower_case(c);
  return lower;
}

}  // namespace semfuse
