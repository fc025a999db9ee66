// A JSON value to be written: built in the order in which it is read, and turned into text that is safe to show.
//
//   const Json run = {{"name", "fusion"}, {"ppl", 4.2}, {"words", words}};
//   print(run.dump());
//
// What is read from outside is parsed by io/json.h; this type only writes, and costs next to nothing to compile.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace semfuse {

class Json {
 public:
  using Member = std::pair<std::string, Json>;

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  template <std::integral Number>
  Json(Number value) : value_(whole(value)) {}
  Json(double value) : value_(value) {}  // NaN and infinity are written as null.
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  Json(std::initializer_list<Member> members) : value_(Members(members)) {}
  template <class Item>
  Json(const std::vector<Item>& items) : value_(Items(items.begin(), items.end())) {}
  template <class Item, std::size_t kSize>
  Json(const std::array<Item, kSize>& items) : value_(Items(items.begin(), items.end())) {}
  Json(const std::map<std::string, std::string>& members) : value_(Members(members.begin(), members.end())) {}

  static Json object() { return Json(Members()); }
  static Json array(std::initializer_list<Json> items = {}) { return Json(Items(items)); }

  // Of an object (a null becomes one): the member of that name, added as null at the end if it is new.
  Json& operator[](std::string_view name);
  // Of a list (a null becomes one).
  void push_back(Json item);

  // In one line, or with every member and item on its own, indented by `indent` more spaces than what holds it. Numbers
  // have the fewest digits that read back as the same double. Control characters, those that turn the direction of
  // text, and line separators are escaped; invalid UTF-8 becomes U+FFFD.
  std::string dump(int indent = -1) const;

 private:
  using Items = std::vector<Json>;
  using Members = std::vector<Member>;

  explicit Json(Items items) : value_(std::move(items)) {}
  explicit Json(Members members) : value_(std::move(members)) {}

  template <std::integral Number>
  static auto whole(Number value) {
    if constexpr (std::signed_integral<Number>) return static_cast<std::int64_t>(value);
    if constexpr (!std::signed_integral<Number>) return static_cast<std::uint64_t>(value);
  }
  void write(std::string& text, int indent, int depth) const;

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Items, Members> value_;
};

// What Json(value).dump() gives, behind what `text` holds: for whoever writes many.
void append_json(std::string& text, std::string_view value);

}  // namespace semfuse
