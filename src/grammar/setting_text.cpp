#include "grammar/setting_text.h"

#include <algorithm>

#include "core/attribute_name.h"

namespace semfuse {
namespace {

constexpr std::string_view kSpace = " \t";
constexpr std::size_t kLongestName = 32;

std::string_view without_space(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kSpace), text.size()));
}

// What stands before one of the characters; empty if that is no name.
std::string_view name_before(std::string_view text, std::string_view characters) {
  const std::size_t end = text.substr(0, kLongestName + 1).find_first_of(characters);
  const std::string_view name = text.substr(0, end == text.npos ? 0 : end);
  return is_attribute_name(name) ? name : std::string_view();
}

}  // namespace

std::string_view name_of_setting(std::string_view text) {
  text = without_space(text);
  const std::string_view name = name_before(text, " \t=");
  return without_space(text.substr(name.size())).starts_with('=') ? name : std::string_view();
}

std::string_view name_of_misspelt_setting(std::string_view text) {
  const std::string_view name = name_before(text, " \t:");
  const std::size_t value = text.find_first_not_of(" \t:", name.size());
  const bool is_number = value != text.npos && (text[value] == '.' || (text[value] >= '0' && text[value] <= '9'));
  return is_number ? name : std::string_view();
}

}  // namespace semfuse
