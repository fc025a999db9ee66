// What a JSON Schema asks of a value, with references, alternatives and conjunctions worked out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/json_value.h"
#include "grammar/number_automaton.h"

namespace semfuse {

using SchemaId = std::uint32_t;
using SchemaIds = std::vector<SchemaId>;  // All of them at once; ascending. None: any value.

// One way for a value to be valid: for each type what is asked of it, without alternatives.
struct SchemaShape {
  using Type = JsonValue::Type;
  static constexpr std::uint8_t kAllTypes = 0x3F;
  static constexpr std::uint8_t bit(Type type) { return static_cast<std::uint8_t>(1 << static_cast<int>(type)); }

  struct Text {  // A string holds a match of this.
    std::string regex;
    std::string pointer;
    bool operator==(const Text&) const = default;
  };
  struct ArrayPart {
    std::vector<SchemaId> prefix;
    std::optional<SchemaId> items;  // Of those behind the prefix.
  };
  struct ObjectPart {
    std::vector<std::pair<std::string, SchemaId>> properties;
    std::vector<std::pair<Text, SchemaId>> patterns;
    std::optional<SchemaId> additional;  // Of members that neither speaks of.
  };
  struct Counts {
    std::uint32_t least = 0;
    std::uint32_t most = 0xFFFFFFFF;  // GrammarTree::kUnbounded
    bool is_free() const { return least == 0 && most == 0xFFFFFFFF; }
    bool is_empty() const { return least > most; }
  };

  std::uint8_t types = kAllTypes;
  std::optional<std::vector<const JsonValue*>> values;  // One of these, of which each is checked against the rest.
  NumberBounds numbers;
  Counts length;  // Characters of a string.
  std::vector<Text> texts;
  Counts num_items;
  std::vector<ArrayPart> arrays;
  Counts num_members;
  std::vector<ObjectPart> objects;
  std::vector<std::string> required;

  bool has(Type type) const { return (types & bit(type)) != 0; }
  bool is_free() const;  // Any value.
};

// All schemas of a text. Throws Error "origin#/pointer: what" for what is not supported or not well formed.
class SchemaShapes {
 public:
  SchemaShapes(std::string_view text, std::string_view origin);

  SchemaId root() { return id_of(root_, ""); }

  // The ways in which a value can be valid against all of these schemas; none if it cannot. Valid as long as the
  // object.
  const std::vector<SchemaShape>& shapes(const SchemaIds& schemas);
  bool accepts(const SchemaIds& schemas, const JsonValue& value);

  // What the shape asks of the item at an index, and of the member of a name.
  static SchemaIds item(const SchemaShape& shape, std::size_t index);
  SchemaIds member(const SchemaShape& shape, const std::string& name);
  // Of a member that no "properties" name, if the texts (places in patterns_of) match it that are in `matching`.
  static std::vector<SchemaShape::Text> patterns_of(const SchemaShape& shape);
  static SchemaIds other_member(const SchemaShape& shape, const std::vector<SchemaShape::Text>& matching);

  const CharacterAutomaton& automaton(const SchemaShape::Text& text);

  const std::string& origin() const { return origin_; }
  const std::string& pointer(SchemaId schema) const { return located_[schema].pointer; }
  [[noreturn]] void fail(const std::string& pointer, const std::string& what) const;

 private:
  struct Located {
    const JsonValue* value;
    std::string pointer;
  };
  // A schema that remains to be looked at; without its choices where they are being looked at.
  struct Todo {
    SchemaId schema;
    bool without_one_of = false;
  };
  struct Partial {
    SchemaShape shape;
    std::vector<Todo> todo;
    std::set<SchemaId> seen;
  };

  SchemaId id_of(const JsonValue& value, const std::string& pointer);
  SchemaId resolve(const JsonValue& reference, const std::string& pointer);
  void check_keywords(SchemaId schema) const;
  void check_cycles(SchemaId schema, std::size_t depth);
  void check_disjoint(const Partial& partial, SchemaId schema, const std::vector<SchemaId>& alternatives);
  void expand(Partial partial, std::vector<SchemaShape>& out);
  void apply(SchemaId schema, SchemaShape& shape);
  void apply_strings(const JsonValue& schema, const std::string& pointer, SchemaShape& shape);
  void apply_numbers(const JsonValue& schema, const std::string& pointer, SchemaShape& shape);
  void apply_arrays(const JsonValue& schema, const std::string& pointer, SchemaShape& shape);
  void apply_objects(const JsonValue& schema, const std::string& pointer, SchemaShape& shape);
  std::uint8_t types_of(const JsonValue& type, const std::string& pointer, bool& whole) const;
  void apply_count(const JsonValue& schema, const std::string& pointer, std::string_view least, std::string_view most,
                   SchemaShape::Counts& counts) const;
  std::vector<SchemaId> list_of(const JsonValue& list, const std::string& pointer);
  bool matches(const SchemaShape& shape, const JsonValue& value);
  bool is_surely_empty(const SchemaShape& shape, int depth);
  bool is_surely_empty(const SchemaIds& schemas, int depth);
  void finish(SchemaShape shape, std::vector<SchemaShape>& out);

  std::string origin_;
  JsonValue root_;
  std::vector<Located> located_;
  std::unordered_map<const JsonValue*, SchemaId> ids_;
  std::map<SchemaIds, std::vector<SchemaShape>> shapes_;
  std::map<std::string, CharacterAutomaton> automata_;
  std::unordered_map<SchemaId, int> cycle_state_;
  std::set<SchemaId> disjoint_;
  std::size_t work_ = 0;
};

}  // namespace semfuse
