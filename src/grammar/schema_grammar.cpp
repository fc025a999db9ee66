// Grammar::from_json_schema: the shapes of a schema as rules.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "grammar/gbnf_parser.h"
#include "grammar/gbnf_text.h"
#include "grammar/schema_objects.h"
#include "grammar/schema_shapes.h"
#include "semfuse/error.h"
#include "semfuse/grammar.h"

namespace semfuse {
namespace {

using Type = JsonValue::Type;
using Whitespace = JsonSchemaOptions::Whitespace;

constexpr std::uint32_t kUnbounded = GrammarTree::kUnbounded;

// Rules that schemas share. Each mentions others; {ws}, {,} and {:} are white space and separators.
struct CommonRule {
  std::string_view name;
  std::string_view body;
  std::vector<std::string_view> mentions;
};

const std::vector<CommonRule>& common_rules() {
  static const std::vector<CommonRule> kRules = {
      {"value",
       "object | array | string | number | boolean | null",
       {"object", "array", "string", "number", "boolean", "null"}},
      {"object", "\"{\" {ws} (member ({,} member)* {ws})? \"}\"", {"member", "ws"}},
      {"member", "string {:} value", {"string", "value", "ws"}},
      {"array", "\"[\" {ws} (value ({,} value)* {ws})? \"]\"", {"value", "ws"}},
      {"string", "\"\\\"\" char* \"\\\"\"", {"char"}},
      {"char", "[^\"\\\\\\x00-\\x1F] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" unicode)", {"unicode"}},
      {"unicode",
       "[0-9A-Ca-cE-Fe-f] hex{3} | [Dd] [0-7] hex{2} | [Dd] [89ABab] hex{2} \"\\\\u\" [Dd] [C-Fc-f] hex{2}",
       {"hex"}},
      {"hex", "[0-9A-Fa-f]", {}},
      {"number", "integer (\".\" [0-9]+)? ([eE] [-+]? [0-9]+)?", {"integer"}},
      {"integer", "\"-\"? (\"0\" | [1-9] [0-9]*)", {}},
      {"boolean", "\"true\" | \"false\"", {}},
      {"null", "\"null\"", {}},
      {"ws", "(\" \" | \"\\n\" [ \\t]{0,20})?", {}},
      {kNever, "\"x\" never", {}}};
  return kRules;
}

class SchemaWriter : public SchemaRules {
 public:
  SchemaWriter(std::string_view text, std::string_view origin, const JsonSchemaOptions& options)
      : SchemaRules(options), shapes_(text, origin) {
    for (const CommonRule& rule : common_rules()) taken_.insert(std::string(rule.name));
  }

  std::string write() {
    const SchemaIds root = {shapes_.root()};
    taken_.insert("root");
    names_[root] = "root";
    open_.push_back(root);
    while (!open_.empty()) {
      const SchemaIds ids = open_.front();
      open_.pop_front();
      define(ids);
      if (text_.size() > kMaxGrammarBytes) fail_at(ids, "as a grammar the schema is too long; make it simpler");
    }
    add_common_rules();
    return std::move(text_);
  }

  [[noreturn]] void fail_as_empty() const { shapes_.fail("", "no value is valid against this schema"); }

  SchemaShapes& shapes() override { return shapes_; }

  std::string rule_of(const SchemaIds& ids) override {
    if (const std::string name = common_name(ids); !name.empty()) return use(name);
    if (const auto known = names_.find(ids); known != names_.end()) return known->second;
    std::string_view pointer = shapes_.pointer(ids.front());
    std::string name = new_name(pointer.substr(pointer.rfind('/') + 1));
    names_[ids] = name;
    open_.push_back(ids);
    return name;
  }

  std::string use(std::string_view common) override {
    used_.emplace(common);
    return std::string(common);
  }

  std::string new_name(std::string_view like) override {
    std::string name;
    for (const char c : like.substr(0, 40)) {
      const bool plain =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
      name.push_back(plain ? c : '-');
    }
    if (name.empty()) name = "part";
    std::uint32_t& number = numbers_[name];
    std::string unique = name;
    while (!taken_.insert(unique).second) unique = fmt::format("{}-{}", name, ++number);
    return unique;
  }

  void add_rule(const std::string& name, const std::string& body) override {
    text_ += fmt::format("{} ::= {}\n", name, body);
  }

  std::string add_automaton(const CharacterAutomaton& automaton, std::string_view like, bool in_string) override {
    if (automaton.empty()) return use(kNever);
    std::string prefix = new_name(like);
    while (!taken_.insert(prefix + "-0").second) prefix = new_name(like);
    const CharactersAsText as_text = in_string ? gbnf_json_characters : gbnf_characters;
    text_ += gbnf_rules(automaton, prefix, as_text);
    return prefix + "-0";
  }

 private:
  [[noreturn]] void fail_at(const SchemaIds& ids, const std::string& what) const {
    shapes_.fail(ids.empty() ? "" : shapes_.pointer(ids.front()), what);
  }

  // A rule that is there anyway; empty if there is none.
  std::string common_name(const SchemaIds& ids) {
    const std::vector<SchemaShape>& found = shapes_.shapes(ids);
    if (found.empty()) return std::string(kNever);
    if (found.size() > 1 || found[0].values) return {};
    const SchemaShape& shape = found[0];
    if (shape.is_free()) return "value";
    if (shape.types == SchemaShape::bit(Type::null)) return "null";
    if (shape.types == SchemaShape::bit(Type::boolean)) return "boolean";
    if (shape.types == SchemaShape::bit(Type::number) && shape.numbers.is_free()) {
      return shape.numbers.whole ? "integer" : "number";
    }
    if (shape.types == SchemaShape::bit(Type::string) && shape.texts.empty() && shape.length.is_free()) return "string";
    return {};
  }

  void define(const SchemaIds& ids) {
    const std::string name = names_.at(ids);
    std::vector<std::string> alternatives;
    try {
      for (const SchemaShape& shape : shapes_.shapes(ids)) add_shape(shape, name, ids, alternatives);
    } catch (const Error& error) {
      if (std::string_view(error.what()).starts_with(shapes_.origin() + "#")) throw;
      fail_at(ids, error.what());
    }
    if (alternatives.empty()) alternatives.push_back(use(kNever));
    add_rule(name, fmt::format("{}", fmt::join(alternatives, " | ")));
  }

  void add_shape(const SchemaShape& shape, const std::string& name, const SchemaIds& ids,
                 std::vector<std::string>& alternatives) {
    const auto add = [&alternatives](std::string text) {
      if (std::find(alternatives.begin(), alternatives.end(), text) == alternatives.end())
        alternatives.push_back(std::move(text));
    };
    if (shape.values) {
      for (const JsonValue* value : *shape.values) alternatives.push_back(literal(*value));
      return;
    }
    if (shape.is_free()) return add(use("value"));
    if (shape.has(Type::null)) add(use("null"));
    if (shape.has(Type::boolean)) add(use("boolean"));
    if (shape.has(Type::number)) add(number(shape.numbers, name));
    if (shape.has(Type::string)) add(string(shape, name));
    if (shape.has(Type::array)) add(array(shape, name));
    if (shape.has(Type::object)) {
      add(write_object(*this, shape, name, ids.empty() ? std::string() : shapes_.pointer(ids.front())));
    }
  }

  // Neighbouring texts become one literal; white space of its own stands between them.
  std::string literal(const JsonValue& value) {
    std::string text;
    std::string pending;
    append(value, pending, text);
    flush(pending, text);
    return text;
  }

  void flush(std::string& pending, std::string& text) const {
    if (!pending.empty()) text += (text.empty() ? "" : " ") + gbnf_literal(pending);
    pending.clear();
  }

  void append_space(std::string& pending, std::string& text) {
    if (options().whitespace != Whitespace::flexible) return;
    flush(pending, text);
    text += " " + use("ws");
  }

  void append(const JsonValue& value, std::string& pending, std::string& text) {
    switch (value.type) {
      case Type::null:
        pending += "null";
        return;
      case Type::boolean:
        pending += value.truth ? "true" : "false";
        return;
      case Type::number:
        pending += value.text;
        return;
      case Type::string:
        pending += json_string(value.text);
        return;
      case Type::array:
      case Type::object:
        break;
    }
    const bool object = value.is(Type::object);
    const bool spaced = options().whitespace == Whitespace::spaced;
    pending += object ? "{" : "[";
    append_space(pending, text);
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      if (i > 0) {
        pending += spaced ? ", " : ",";
        append_space(pending, text);
      }
      if (object) {
        pending += json_string(value.names[i]) + (spaced ? ": " : ":");
        append_space(pending, text);
      }
      append(value.items[i], pending, text);
    }
    if (!value.items.empty()) append_space(pending, text);
    pending += object ? "}" : "]";
  }

  std::string number(const NumberBounds& bounds, const std::string& name) {
    if (bounds.is_free()) return use(bounds.whole ? "integer" : "number");
    return add_automaton(number_automaton(bounds), name + "-number", false);
  }

  std::string string(const SchemaShape& shape, const std::string& name) {
    if (shape.length.is_empty()) return use(kNever);
    if (shape.texts.empty()) {
      if (shape.length.is_free()) return use("string");
      return fmt::format("\"\\\"\" {}{} \"\\\"\"", use("char"), gbnf_count(shape.length.least, shape.length.most));
    }
    if (shape.texts.size() == 1 && shape.length.is_free()) {
      const SchemaShape::Text& text = shape.texts[0];
      try {
        Regex regex = parse_regex(text.regex, "pattern");
        if (without_anchors(regex, true, CharacterAutomaton::any_character())) {
          const std::string body = gbnf_of(regex, gbnf_json_characters);
          if (body.find(kNever) != body.npos) use(kNever);
          return fmt::format("\"\\\"\" ({}) \"\\\"\"", body);
        }
      } catch (const Error& error) {
        shapes_.fail(text.pointer, error.what());
      }
    }
    CharacterAutomaton all = CharacterAutomaton::of_lengths(shape.length.least, shape.length.most);
    for (const SchemaShape::Text& text : shape.texts) all = all.shared_with(shapes_.automaton(text));
    return fmt::format("\"\\\"\" {} \"\\\"\"", add_automaton(all, name + "-text", true));
  }

  std::string array(const SchemaShape& shape, const std::string& name) {
    std::size_t num_prefix = 0;
    for (const SchemaShape::ArrayPart& part : shape.arrays) num_prefix = std::max(num_prefix, part.prefix.size());
    const std::uint32_t least = shape.num_items.least;
    std::uint32_t most = shape.num_items.most;
    const SchemaIds rest = SchemaShapes::item(shape, num_prefix);
    const auto k = static_cast<std::uint32_t>(num_prefix);
    if (shapes_.shapes(rest).empty()) most = std::min(most, k);
    if (least > most) return use(kNever);
    if (most == 0) return join({"\"[\"", space(), "\"]\""});
    const auto counted = [&](std::uint32_t written) {  // More of the rest, if so many items stand there.
      if (most <= written) return std::string();
      const std::uint32_t upto = most == kUnbounded ? kUnbounded : most - written;
      return fmt::format("({} {}){}", comma(), rule_of(rest), gbnf_count(least > written ? least - written : 0, upto));
    };
    std::string items;
    if (k == 0) {
      items = join({rule_of(rest), counted(1)});
    } else {
      std::string tail = counted(k);
      for (std::uint32_t i = std::min(k, most) - 1; i > 0; --i) {
        tail = join({comma(), rule_of(SchemaShapes::item(shape, i)), tail});
        if (i >= least) tail.insert(0, "(").append(")?");
        const std::string rule = new_name(name + "-items");
        add_rule(rule, tail);
        tail = rule;
      }
      items = join({rule_of(SchemaShapes::item(shape, 0)), tail});
    }
    if (least == 0) return join({"\"[\"", space(), "(" + join({items, space()}) + ")?", "\"]\""});
    return join({"\"[\"", space(), items, space(), "\"]\""});
  }

  void add_common_rules() {
    std::set<std::string_view> written;
    for (bool more = true; more;) {
      more = false;
      for (const CommonRule& rule : common_rules()) {
        if (!used_.contains(rule.name) || !written.insert(rule.name).second) continue;
        for (const std::string_view other : rule.mentions) {
          if (other != "ws" || options().whitespace == Whitespace::flexible) used_.emplace(other);
        }
        std::string body(rule.body);
        const auto replace = [&body](std::string_view from, const std::string& to) {
          for (std::size_t at = body.find(from); at != body.npos; at = body.find(from, at + to.size())) {
            body.replace(at, from.size(), to);
          }
        };
        replace(" {ws}", space().empty() ? "" : " " + space());
        replace("{,}", comma());
        replace("{:}", colon());
        add_rule(std::string(rule.name), body);
        more = true;
      }
    }
  }

  SchemaShapes shapes_;
  std::string text_;
  std::map<SchemaIds, std::string> names_;
  std::deque<SchemaIds> open_;
  std::set<std::string> taken_;
  std::map<std::string, std::uint32_t> numbers_;
  std::set<std::string, std::less<>> used_;
};

}  // namespace

Grammar Grammar::from_json_schema(std::string_view schema, std::string_view origin, const JsonSchemaOptions& options) {
  SchemaWriter writer(schema, origin, options);
  const std::string gbnf = writer.write();
  try {
    return parse(gbnf, origin);
  } catch (const Error& error) {
    if (std::string_view(error.what()).find("describes no sentence") != std::string_view::npos) writer.fail_as_empty();
    throw;
  }
}

}  // namespace semfuse
