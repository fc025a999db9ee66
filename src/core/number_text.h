// Numbers as people write them into cells.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace semfuse {

// The finite number that the text is, from first to last byte (a leading + is allowed); nothing if it is none.
inline std::optional<double> number_of(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  double number = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

}  // namespace semfuse
