#include "grammar/json_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "grammar/decimal.h"
#include "grammar/grammar_text.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

using nlohmann::json;

// The library's own values sort the members of objects, and round numbers.
class Builder : public nlohmann::json_sax<json> {
 public:
  Builder(const GrammarText& source, std::size_t max_depth) : source_(source), max_depth_(max_depth) {}

  JsonValue take() { return std::move(root_); }

  bool null() override { return add({}); }
  bool boolean(bool value) override { return add({.type = JsonValue::Type::boolean, .truth = value}); }
  bool number_integer(std::int64_t value) override { return add_number(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) override { return add_number(std::to_string(value)); }
  bool number_float(double, const std::string& text) override { return add_number(text); }
  bool string(std::string& value) override { return add({.type = JsonValue::Type::string, .text = std::move(value)}); }
  bool binary(json::binary_t&) override { return false; }  // Text has none.
  bool start_object(std::size_t) override { return open(JsonValue::Type::object); }
  bool start_array(std::size_t) override { return open(JsonValue::Type::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    if (!names_.back().insert(name).second) {
      throw Error(fmt::format("{}: {} appears twice in an object; remove one", source_.origin, quoted_text(name)));
    }
    open_.back()->names.push_back(std::move(name));
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    if (const auto* syntax = dynamic_cast<const json::parse_error*>(&error)) {
      source_.fail(std::min(syntax->byte == 0 ? 0 : syntax->byte - 1, source_.text.size()), "not valid JSON; mend it");
    }
    throw Error(fmt::format("{}: JSON with a number out of range; choose a smaller one", source_.origin));
  }

 private:
  JsonValue& place(JsonValue value) {
    if (open_.empty()) return root_ = std::move(value);
    open_.back()->items.push_back(std::move(value));
    return open_.back()->items.back();
  }
  bool add(JsonValue value) {
    place(std::move(value));
    return true;
  }
  bool add_number(std::string text) { return add({.type = JsonValue::Type::number, .text = std::move(text)}); }
  bool open(JsonValue::Type type) {
    if (open_.size() >= max_depth_)
      throw Error(fmt::format("{}: JSON nests deeper than {}; make it flatter", source_.origin, max_depth_));
    open_.push_back(&place({.type = type}));
    names_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    names_.pop_back();
    return true;
  }

  const GrammarText& source_;
  std::size_t max_depth_;
  JsonValue root_;
  std::vector<JsonValue*> open_;  // A list does not grow while something in it is open.
  std::vector<std::unordered_set<std::string>> names_;
};

}  // namespace

const JsonValue* JsonValue::member(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? nullptr : &items[static_cast<std::size_t>(found - names.begin())];
}

bool JsonValue::equals(const JsonValue& other) const {
  if (type != other.type || items.size() != other.items.size()) return false;
  switch (type) {
    case Type::null:
      return true;
    case Type::boolean:
      return truth == other.truth;
    case Type::number:
      return Decimal::parse(text) == Decimal::parse(other.text);
    case Type::string:
      return text == other.text;
    case Type::array:
      return std::equal(items.begin(), items.end(), other.items.begin(),
                        [](const JsonValue& a, const JsonValue& b) { return a.equals(b); });
    case Type::object:
      break;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const JsonValue* theirs = other.member(names[i]);
    if (theirs == nullptr || !items[i].equals(*theirs)) return false;
  }
  return true;
}

JsonValue JsonValue::parse(std::string_view text, std::string_view origin, std::size_t max_depth) {
  const GrammarText source = {.text = text, .origin = origin};
  // The parser takes a zero byte for the end of the text and would not look at what follows.
  if (const std::size_t zero = text.find('\0'); zero != text.npos) source.fail(zero, "zero byte in JSON; remove it");
  Builder builder(source, max_depth);
  json::sax_parse(text, &builder);
  return builder.take();
}

std::string json_string(std::string_view utf8) {
  std::string text = "\"";
  for (const char c : utf8) {
    switch (c) {
      case '"':
      case '\\':
        text.append("\\").push_back(c);
        break;
      case '\b':
        text += "\\b";
        break;
      case '\f':
        text += "\\f";
        break;
      case '\n':
        text += "\\n";
        break;
      case '\r':
        text += "\\r";
        break;
      case '\t':
        text += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          text.push_back(c);
        }
    }
  }
  return text + "\"";
}

}  // namespace semfuse
