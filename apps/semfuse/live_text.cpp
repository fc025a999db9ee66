#include "live_text.h"

#include <algorithm>

#include "io/quoted_text.h"

namespace semfuse {

void LiveText::add(const GeneratedToken& token) {
  if (token.id > Vocabulary::kEos) ids_.push_back(token.id);
  const std::string text = model_.decode(ids_);
  const std::size_t whole = valid_utf8_prefix(text);
  if (whole <= num_shown_) return;
  out_.print(printable(std::string_view(text).substr(num_shown_, whole - num_shown_)));
  num_shown_ = whole;
}

std::string LiveText::rest(const std::string& text) const {
  return printable(std::string_view(text).substr(std::min(num_shown_, text.size())));
}

}  // namespace semfuse
