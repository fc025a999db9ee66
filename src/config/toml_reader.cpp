#include "config/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

// Thrown where the TOML parser would assert.
struct ParserAssertion {};

constexpr void parser_assert(bool condition) {
  if (!condition) throw ParserAssertion();
}

}  // namespace
}  // namespace semfuse

// Compiled in here, whatever the system's package proposes: an installed libsemfuse.a then asks for no TOML library,
// and the sanitizers see the parser. Text can break the parser's assertions ("[.a]" does in 3.3), which abort in a
// debug build and are assumed to hold in a release; here they throw in both.
#undef NDEBUG
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 16
#define TOML_ASSERT(condition) ::semfuse::parser_assert(static_cast<bool>(condition))
#include <toml++/toml.h>

namespace semfuse {
namespace {

// Each dot can open a table inside a table, which the parser's destructor leaves by recursion, so their number bounds
// the stack. A configuration has a few dozen.
constexpr std::ptrdiff_t kMaxDots = 2000;

std::string printable(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  return result;
}

// The text with each character beyond ASCII as \UXXXXXXXX: the same in a string and a comment, refused elsewhere as it
// should be. toml++ 3.3 has undefined behaviour for such characters outside strings (it takes U+00A1 to U+0499 for
// impossible there).
std::string as_ascii(std::string_view text, std::string_view origin) {
  std::string ascii;
  ascii.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_character_length(text.substr(i));
    if (length == 0) {
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n');
      throw Error(fmt::format("{}:{}: not valid TOML: not UTF-8; save the file as UTF-8", origin, line));
    }
    if (length == 1) {
      ascii += text[i];
    } else {
      std::uint32_t code = static_cast<unsigned char>(text[i]) & (0x7FU >> length);
      for (std::size_t k = 1; k < length; ++k) code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
      ascii += fmt::format("\\U{:08X}", code);
    }
    i += length;
  }
  return ascii;
}

toml::table parse_table(std::string_view text, std::string_view origin) {
  if (text.size() > kMaxTomlBytes) {
    throw Error(fmt::format("{}: larger than {} bytes; a configuration is a short text", origin, kMaxTomlBytes));
  }
  if (std::count(text.begin(), text.end(), '.') > kMaxDots) {
    throw Error(fmt::format("{}: has more than {} dots; a configuration is a short text", origin, kMaxDots));
  }
  try {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    return toml::parse(as_ascii(text, origin), std::string_view());
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    throw Error(fmt::format("{}:{}:{}: not valid TOML: {}; mend this line", origin, at.line, at.column,
                            printable(error.description())));
  } catch (const ParserAssertion&) {
    throw Error(fmt::format("{}: not valid TOML; compare it with a preset", origin));
  }
}

Value value_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::boolean:
      return {node.as_boolean()->get()};
    case toml::node_type::integer:
      return {node.as_integer()->get()};
    case toml::node_type::floating_point:
      return {node.as_floating_point()->get()};
    case toml::node_type::string:
      return {node.as_string()->get()};
    case toml::node_type::array: {
      std::vector<Value> list;
      for (const toml::node& item : *node.as_array()) list.push_back(value_of(item));
      return {std::move(list)};
    }
    case toml::node_type::table:
      return {ForeignValue{"a table"}};
    default:
      return {ForeignValue{"a date or time"}};
  }
}

Setting setting_of(std::optional<std::string> section, std::optional<std::string> name, const toml::node& node) {
  const toml::source_position at = node.source().begin;
  return {std::move(section), std::move(name), value_of(node), at.line, at.column};
}

}  // namespace

std::vector<Setting> read_toml(std::string_view text, std::string_view origin) {
  const toml::table top = parse_table(text, origin);
  std::vector<Setting> settings;
  for (const auto& [key, node] : top) {
    const std::string outer(key.str());
    const toml::table* section = node.as_table();
    if (section == nullptr) {
      settings.push_back(setting_of(std::nullopt, outer, node));
      continue;
    }
    settings.push_back(setting_of(outer, std::nullopt, node));
    for (const auto& [name, inner] : *section) settings.push_back(setting_of(outer, std::string(name.str()), inner));
  }
  std::stable_sort(settings.begin(), settings.end(), [](const Setting& a, const Setting& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  return settings;
}

std::optional<Value> read_toml_value(std::string_view text) {
  try {
    const toml::table table = parse_table(fmt::format("value = {}", text), "value");
    const toml::node* node = table.get("value");
    if (table.size() != 1 || node == nullptr) return std::nullopt;
    return value_of(*node);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace semfuse
