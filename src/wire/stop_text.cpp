#include "wire/stop_text.h"

#include <algorithm>

namespace semfuse {

namespace {

// Bytes at the end that are the beginning of a character whose end is still to come.
std::size_t cut_character(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) return 0;
    if (byte < 0xC0) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace

bool StopText::append(std::string_view bytes) {
  if (stopped_) return false;
  const std::size_t before = text_.size();
  text_ += bytes;
  std::size_t first = text_.npos;
  for (const std::string& stop : stops_) {
    const std::size_t from = before - std::min(before, stop.size() - 1);
    first = std::min(first, text_.find(stop, from));
  }
  if (first == text_.npos) return true;
  text_.resize(first);
  stopped_ = finished_ = true;
  return false;
}

void StopText::finish() {
  finished_ = true;
}

std::string StopText::take() {
  std::size_t certain = text_.size();
  if (!finished_) {
    certain -= cut_character(text_);
    for (const std::string& stop : stops_) {
      // The longest end of the text that a stop text may begin with.
      for (std::size_t length = std::min(stop.size() - 1, text_.size()); length > 0; --length) {
        if (!text_.ends_with(std::string_view(stop).substr(0, length))) continue;
        certain = std::min(certain, text_.size() - length);
        break;
      }
    }
  }
  if (certain <= num_taken_) return "";
  std::string taken = text_.substr(num_taken_, certain - num_taken_);
  num_taken_ = certain;
  return taken;
}

}  // namespace semfuse
