#include "wire/request_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/nearest_word.h"
#include "io/json.h"
#include "io/quoted_text.h"
#include "wire/api_error.h"

namespace semfuse {

namespace {

nlohmann::json parsed(std::string_view body) {
  try {
    return parse_json(body, "request");
  } catch (const Error& error) {
    throw ApiError(400, error.what());
  }
}

}  // namespace

RequestFields::RequestFields(std::string_view body) : RequestFields(parsed(body), "") {}

RequestFields::RequestFields(nlohmann::json object, std::string name) : object_(std::move(object)) {
  if (!name.empty()) prefix_ = name + '.';
  if (!object_.is_object()) {
    throw ApiError(400,
                   name.empty() ? "the body must be a JSON object, as {\"prompt\": \"...\"}"
                                : fmt::format("{}: must be an object", name),
                   name);
  }
}

void RequestFields::refuse(std::string_view name, std::string_view what) const {
  throw ApiError(400, fmt::format("{}{}: {}", prefix_, name, what), fmt::format("{}{}", prefix_, name));
}

const nlohmann::json* RequestFields::find(std::string_view name) {
  known_.push_back(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> RequestFields::text(std::string_view name) {
  const nlohmann::json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse(name, "must be a string");
  return value->get<std::string>();
}

std::optional<bool> RequestFields::flag(std::string_view name) {
  const nlohmann::json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) refuse(name, "must be true or false");
  return value->get<bool>();
}

std::optional<double> RequestFields::number(std::string_view name, double low, double high) {
  const nlohmann::json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) refuse(name, "must be a number");
  const double number = value->get<double>();
  if (!(number >= low && number <= high)) refuse(name, fmt::format("must be from {} to {}", low, high));
  return number;
}

std::optional<std::uint64_t> RequestFields::whole(std::string_view name, std::uint64_t low, std::uint64_t high) {
  const nlohmann::json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() < low || value->get<std::uint64_t>() > high) {
    refuse(name, fmt::format("must be a whole number from {} to {}", low, high));
  }
  return value->get<std::uint64_t>();
}

std::optional<RequestFields> RequestFields::object(std::string_view name) {
  const nlohmann::json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  return RequestFields(*value, fmt::format("{}{}", prefix_, name));
}

void RequestFields::refuse_others() const {
  for (const auto& [name, value] : object_.items()) {
    if (std::ranges::find(known_, name) != known_.end()) continue;
    std::vector<std::string> known(known_.begin(), known_.end());
    std::ranges::sort(known);
    const std::string meant = did_you_mean(name, known);
    const std::string_view within = std::string_view(prefix_).substr(0, prefix_.empty() ? 0 : prefix_.size() - 1);
    throw ApiError(400,
                   fmt::format("{}{}{} is unknown to this server{}", within, within.empty() ? "" : ": ",
                               quoted_text(name), meant.empty() ? "; leave it out" : meant),
                   prefix_ + name);
  }
}

}  // namespace semfuse
