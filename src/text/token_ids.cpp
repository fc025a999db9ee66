#include "text/token_ids.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "io/json.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::string_view kBetween = " \t\r\n,";

std::vector<TokenId> ids_of_json(const nlohmann::json& value, std::string_view origin) {
  const bool is_object = value.is_object();
  if (is_object && !value.contains("ids")) throw Error(fmt::format("{}: the object has no \"ids\"; add them", origin));
  const nlohmann::json& list = is_object ? value["ids"] : value;
  if (!list.is_array()) throw Error(fmt::format("{}: the ids are no list; write them as [5, 17]", origin));
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_number_unsigned() || list[i].get<std::uint64_t>() > std::numeric_limits<TokenId>::max()) {
      throw Error(fmt::format("{}: number {} of the ids is not a whole number from 0 on; mend it", origin, i + 1));
    }
    ids.push_back(list[i].get<TokenId>());
  }
  return ids;
}

}  // namespace

std::vector<TokenId> parse_token_ids(std::string_view text, std::string_view origin) {
  const std::size_t first = text.find_first_not_of(kBetween);
  if (first == text.npos) return {};
  if (text[first] == '{' || text[first] == '[') return ids_of_json(parse_json(text, origin), origin);
  std::vector<TokenId> ids;
  for (std::size_t begin = first; begin != text.npos;) {
    const std::string_view word = text.substr(begin, text.find_first_of(kBetween, begin) - begin);
    TokenId id = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (code != std::errc() || end != word.data() + word.size() || id < 0) {
      throw Error(fmt::format("{}: {} is no id; write ids as 5 17 or [5, 17]", origin, quoted_text(word)));
    }
    ids.push_back(id);
    begin = text.find_first_not_of(kBetween, begin + word.size());
  }
  return ids;
}

}  // namespace semfuse
