#include "io/json.h"

#include <fmt/format.h>

#include <cmath>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

using nlohmann::json;

[[noreturn]] void fail_at(std::string_view text, std::size_t byte, std::string_view origin, std::string_view what) {
  const std::string_view before = text.substr(0, byte);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = 1 + (newline == before.npos ? before.size() : before.size() - newline - 1);
  throw Error(fmt::format("{}:{}:{}: {}; mend the JSON or write the file anew", origin, line, column, what));
}

}  // namespace

json parse_json(std::string_view text, std::string_view origin, std::size_t max_depth) {
  // The parser takes a zero byte for the end of the text and would not look at what follows.
  if (const std::size_t zero = text.find('\0'); zero != text.npos) fail_at(text, zero, origin, "zero byte in JSON");

  std::vector<std::set<std::string>> open_objects;
  const auto watch = [&](int depth, json::parse_event_t event, const json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
        open_objects.emplace_back();
        [[fallthrough]];
      case json::parse_event_t::array_start:
        // At its start event a value counts itself out: the outermost has depth 0.
        if (static_cast<std::size_t>(depth) >= max_depth) {
          throw Error(fmt::format("{}: JSON nests deeper than {}; write the file anew", origin, max_depth));
        }
        break;
      case json::parse_event_t::key: {
        const auto& key = parsed.get_ref<const std::string&>();
        if (!open_objects.back().insert(key).second) {
          throw Error(fmt::format("{}: {} appears twice; remove one", origin, quoted_text(key)));
        }
        break;
      }
      case json::parse_event_t::object_end:
        open_objects.pop_back();
        break;
      default:
        break;
    }
    return true;
  };

  try {
    return json::parse(text, watch);
  } catch (const json::parse_error& error) {
    fail_at(text, error.byte == 0 ? 0 : error.byte - 1, origin, "not valid JSON");
  } catch (const json::exception&) {
    throw Error(fmt::format("{}: JSON with a number out of range; write the file anew", origin));
  }
}

nlohmann::ordered_json finite_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

}  // namespace semfuse
