#include "config/value_json.h"

namespace semfuse {

Json to_json(const Value& value) {
  if (const auto* truth = value.as<bool>()) return *truth;
  if (const auto* whole = value.as<std::int64_t>()) return *whole;
  if (const auto* number = value.as<double>()) return *number;
  if (const auto* text = value.as<std::string>()) return *text;
  Json list = Json::array();
  if (const auto* values = value.as<std::vector<Value>>()) {
    for (const Value& item : *values) list.push_back(to_json(item));
  }
  return list;
}

}  // namespace semfuse
