#include "status_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace semfuse {
namespace {

// Always the same, so that it does not jump when the text grows; left out where it would take the text's room.
constexpr std::size_t kBar = 12;
constexpr std::size_t kNarrowestBar = 60;

std::string repeated(std::string_view character, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += character;
  return text;
}

}  // namespace

std::string StatusLine::shown(double share, const std::string& text) {
  share = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
  // A line that reached the last column would wrap and could not be taken back.
  const std::size_t room = terminal_.width() - 1;
  const std::string rest = fmt::format(" {:3.0f} %  {}", std::floor(share * 100.0), text);
  const std::size_t bar = room < kNarrowestBar ? 0 : kBar;
  const auto done = static_cast<std::size_t>(share * static_cast<double>(bar));
  const std::string cut = broken(rest, room - bar);
  const std::string shown = cut.substr(0, cut.find('\n'));
  const std::size_t columns = bar + num_characters(shown);
  const std::size_t before = std::exchange(length_, columns);
  return '\r' + terminal_.green(repeated("━", done)) + terminal_.dim(repeated("─", bar - done)) + shown +
         std::string(before > columns ? before - columns : 0, ' ');
}

std::string StatusLine::cleared() {
  if (length_ == 0) return {};
  return '\r' + std::string(std::exchange(length_, 0), ' ') + '\r';
}

}  // namespace semfuse
