// How attributes of a lexicon and knobs may be called, wherever they are written.
#pragma once

#include <algorithm>
#include <string_view>

namespace semfuse {

// a-z, 0-9 and _, at most 32 of them.
inline bool is_attribute_name(std::string_view name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), fits);
}

}  // namespace semfuse
