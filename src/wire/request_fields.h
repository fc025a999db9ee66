// The fields of a JSON object in a request, read one by one with what each may be.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace semfuse {

// Every reader throws ApiError, 400 with the field's name, for a value of another type or out of range; null counts as
// absent. Names that are asked for must outlive the object, as literals do.
class RequestFields {
 public:
  // Throws ApiError unless the text is one JSON object.
  explicit RequestFields(std::string_view body);
  // An object inside of one, whose name goes before those of its fields.
  RequestFields(nlohmann::json object, std::string name);

  // Null if it is absent. The field then counts as known.
  const nlohmann::json* find(std::string_view name);

  std::optional<std::string> text(std::string_view name);
  std::optional<bool> flag(std::string_view name);
  std::optional<double> number(std::string_view name, double low, double high);
  std::optional<std::uint64_t> whole(std::string_view name, std::uint64_t low, std::uint64_t high);
  std::optional<RequestFields> object(std::string_view name);

  // Passes over a field, whatever it holds.
  void ignore(std::string_view name) { known_.push_back(name); }
  // Throws ApiError for a field that nobody asked for.
  void refuse_others() const;
  [[noreturn]] void refuse(std::string_view name, std::string_view what) const;

  const nlohmann::json& json() const { return object_; }

 private:
  nlohmann::json object_;
  std::string prefix_;
  std::vector<std::string_view> known_;  // Few: a list is faster than a set.
};

}  // namespace semfuse
