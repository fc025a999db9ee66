#include "io/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
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
  throw Error(fmt::format("{}:{}:{}: {}; mend it or write it anew", origin, line, column, what));
}

// Builds the value of a text while it is read. The library's own parser with a callback looks through the members of an
// object whenever one of them ends, which takes a minute for a header of 40,000 tensors.
class ValueBuilder : public nlohmann::json_sax<json> {
 public:
  ValueBuilder(std::string_view text, std::string_view origin, std::size_t max_depth)
      : text_(text), origin_(origin), max_depth_(max_depth) {}

  json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(json::binary_t&) override { return false; }  // Text has none.
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    const auto [place, added] = open_.back()->get_ref<json::object_t&>().emplace(name, nullptr);
    if (!added) throw Error(fmt::format("{}: {} appears twice; remove one", origin_, quoted_text(name)));
    member_ = &place->second;
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    if (const auto* syntax = dynamic_cast<const json::parse_error*>(&error)) {
      fail_at(text_, syntax->byte == 0 ? 0 : syntax->byte - 1, origin_, "not valid JSON");
    }
    throw Error(fmt::format("{}: JSON with a number out of range; write it anew", origin_));
  }

 private:
  // Puts a value where the text stands: into the open object or list, or as the whole.
  json& place(json value) {
    if (open_.empty()) return root_ = std::move(value);
    if (open_.back()->is_object()) return *member_ = std::move(value);
    open_.back()->push_back(std::move(value));
    return open_.back()->back();
  }
  bool add(json value) {
    place(std::move(value));
    return true;
  }
  bool open(json value) {
    if (open_.size() >= max_depth_) {
      throw Error(fmt::format("{}: JSON nests deeper than {}; write it anew", origin_, max_depth_));
    }
    open_.push_back(&place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  std::string_view origin_;
  std::size_t max_depth_;
  json root_;
  std::vector<json*> open_;  // From the whole to the innermost; a list does not grow while something in it is open.
  json* member_ = nullptr;   // Of the innermost object, whose value comes next.
};

}  // namespace

json parse_json(std::string_view text, std::string_view origin, std::size_t max_depth) {
  // The parser takes a zero byte for the end of the text and would not look at what follows.
  if (const std::size_t zero = text.find('\0'); zero != text.npos) fail_at(text, zero, origin, "zero byte in JSON");
  ValueBuilder builder(text, origin, max_depth);
  json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace semfuse
