// The fields of a JSON object in a request, read one by one with what each may be.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace semfuse {

// Every reader throws ApiError, 400 with the field's name, for a value of another type or out of range; null counts as
// absent. Refers to nothing.
class RequestFields {
 public:
  // Throws ApiError unless the text is one JSON object.
  explicit RequestFields(std::string_view body);
  // An object inside of one, whose name goes before those of its fields.
  RequestFields(nlohmann::json object, std::string name);

  // Null if it is absent. The field then counts as known.
  const nlohmann::json* find(const std::string& name);

  std::optional<std::string> text(const std::string& name);
  std::optional<bool> flag(const std::string& name);
  std::optional<double> number(const std::string& name, double low, double high);
  std::optional<std::uint64_t> whole(const std::string& name, std::uint64_t low, std::uint64_t high);
  std::optional<RequestFields> object(const std::string& name);

  // Passes over a field, whatever it holds.
  void ignore(const std::string& name) { known_.insert(name); }
  // Throws ApiError for a field that nobody asked for.
  void refuse_others() const;
  [[noreturn]] void refuse(const std::string& name, const std::string& what) const;

  const nlohmann::json& json() const { return object_; }

 private:
  nlohmann::json object_;
  std::string prefix_;
  std::set<std::string> known_;
};

}  // namespace semfuse
