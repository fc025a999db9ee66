#include "grammar/schema_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/nearest_word.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;
constexpr std::size_t kMostShapeWork = 20'000;  // Shapes and parts of them.
constexpr std::size_t kMostChain = 500;         // Of references and conjunctions.

constexpr std::array kSupported = {"type",
                                   "enum",
                                   "const",
                                   "anyOf",
                                   "oneOf",
                                   "allOf",
                                   "$ref",
                                   "minimum",
                                   "maximum",
                                   "exclusiveMinimum",
                                   "exclusiveMaximum",
                                   "multipleOf",
                                   "minLength",
                                   "maxLength",
                                   "pattern",
                                   "format",
                                   "prefixItems",
                                   "items",
                                   "minItems",
                                   "maxItems",
                                   "uniqueItems",
                                   "properties",
                                   "required",
                                   "additionalProperties",
                                   "patternProperties",
                                   "minProperties",
                                   "maxProperties"};

// What says nothing about whether a value is valid.
constexpr std::array kAnnotations = {
    "title",       "description",      "default",         "examples",      "deprecated", "readOnly",
    "writeOnly",   "$comment",         "$schema",         "$id",           "$anchor",    "$defs",
    "definitions", "contentMediaType", "contentEncoding", "contentSchema", "$vocabulary"};

std::string escaped(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text.push_back(c);
    }
  }
  return text;
}

template <typename Names>
bool among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string list_texts(const auto& names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

}  // namespace

bool SchemaShape::is_free() const {
  return types == kAllTypes && !values && numbers.is_free() && !numbers.whole && length.is_free() && texts.empty() &&
         num_items.is_free() && arrays.empty() && num_members.is_free() && objects.empty() && required.empty();
}

SchemaShapes::SchemaShapes(std::string_view text, std::string_view origin) : origin_(origin) {
  if (text.size() > kMostBytes) {
    fail("", fmt::format("the schema has {} bytes, more than {}; make it shorter", text.size(), kMostBytes));
  }
  root_ = JsonValue::parse(text, origin);
  if (!root_.is(JsonValue::Type::object) && !root_.is(JsonValue::Type::boolean)) {
    fail("", "a schema is an object, true or false");
  }
  if (const JsonValue* dialect = root_.member("$schema"); dialect != nullptr) {
    constexpr std::array kDialects = {"2020-12", "2019-09", "draft-07", "draft-06"};
    if (std::none_of(kDialects.begin(), kDialects.end(),
                     [&](const char* name) { return dialect->text.find(name) != std::string::npos; })) {
      fail("/$schema", "write the schema for draft 2020-12");
    }
  }
}

void SchemaShapes::fail(const std::string& pointer, const std::string& what) const {
  constexpr std::size_t kMostShown = 200;
  const std::string place = quoted_text(pointer, kMostShown);
  throw Error(fmt::format("{}#{}: {}", origin_, place.substr(1, place.size() - 2), what));
}

SchemaId SchemaShapes::id_of(const JsonValue& value, const std::string& pointer) {
  const auto [found, added] = ids_.emplace(&value, static_cast<SchemaId>(located_.size()));
  if (added) {
    located_.push_back({&value, pointer});
    check_keywords(found->second);
  }
  return found->second;
}

void SchemaShapes::check_keywords(SchemaId schema) const {
  const auto& [value, pointer] = located_[schema];
  if (value->is(JsonValue::Type::boolean)) return;
  if (!value->is(JsonValue::Type::object)) fail(pointer, "a schema is an object, true or false");
  for (const std::string& name : value->names) {
    if (among(kSupported, name) || among(kAnnotations, name) || name.starts_with("x-")) continue;
    const std::vector<std::string> known(kSupported.begin(), kSupported.end());
    fail(pointer + "/" + escaped(name),
         fmt::format("this keyword is not supported; remove it, or say the same with {}{}",
                     "anyOf, enum, pattern and the like", did_you_mean(name, known)));
  }
}

SchemaId SchemaShapes::resolve(const JsonValue& reference, const std::string& pointer) {
  if (!reference.is(JsonValue::Type::string)) fail(pointer, "a reference is a string, as \"#/$defs/name\"");
  const std::string& text = reference.text;
  if (!text.starts_with('#') || (text.size() > 1 && text[1] != '/')) {
    fail(pointer, "only references within the schema are followed; write \"#/$defs/name\"");
  }
  const JsonValue* at = &root_;
  std::string rest = text.substr(1);
  std::string decoded;
  for (std::size_t i = 0; i < rest.size(); ++i) {  // "%25" is "%".
    const auto digit = [](char c) {
      return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
    };
    if (rest[i] == '%' && i + 2 < rest.size() && digit(rest[i + 1]) >= 0 && digit(rest[i + 2]) >= 0) {
      decoded.push_back(static_cast<char>(digit(rest[i + 1]) * 16 + digit(rest[i + 2])));
      i += 2;
    } else {
      decoded.push_back(rest[i]);
    }
  }
  for (std::size_t begin = 1; begin <= decoded.size() && !decoded.empty();) {
    const std::size_t end = std::min(decoded.find('/', begin), decoded.size());
    std::string name;
    for (std::size_t i = begin; i < end; ++i) {
      const bool escape = decoded[i] == '~' && i + 1 < end && (decoded[i + 1] == '0' || decoded[i + 1] == '1');
      name.push_back(escape ? (decoded[++i] == '0' ? '~' : '/') : decoded[i]);
    }
    const JsonValue* next = nullptr;
    if (at->is(JsonValue::Type::object)) next = at->member(name);
    const bool index = !name.empty() && name.size() < 8 && name.find_first_not_of("0123456789") == name.npos;
    if (at->is(JsonValue::Type::array) && index && std::stoul(name) < at->items.size())
      next = &at->items[std::stoul(name)];
    if (next == nullptr) fail(pointer, fmt::format("there is nothing at {}", quoted_text(text)));
    at = next;
    begin = end + 1;
  }
  return id_of(*at, decoded);
}

std::vector<SchemaId> SchemaShapes::list_of(const JsonValue& list, const std::string& pointer) {
  if (!list.is(JsonValue::Type::array) || list.items.empty()) fail(pointer, "this needs a list of schemas");
  std::vector<SchemaId> ids;
  for (std::size_t i = 0; i < list.items.size(); ++i)
    ids.push_back(id_of(list.items[i], fmt::format("{}/{}", pointer, i)));
  return ids;
}

// A schema that is, without anything in between, itself: it says nothing that could be worked out.
void SchemaShapes::check_cycles(SchemaId schema, std::size_t depth) {
  enum { open = 1, done = 2 };
  if (cycle_state_[schema] == done) return;
  const std::string pointer = located_[schema].pointer;
  if (cycle_state_[schema] == open) fail(pointer, "this schema refers to itself without end; put something in between");
  if (depth > kMostChain) fail(pointer, fmt::format("more than {} references one behind the other", kMostChain));
  cycle_state_[schema] = open;
  const JsonValue& value = *located_[schema].value;
  if (const JsonValue* ref = value.member("$ref")) check_cycles(resolve(*ref, pointer + "/$ref"), depth + 1);
  for (const char* name : {"allOf", "anyOf", "oneOf"}) {
    const JsonValue* list = value.member(name);
    if (list == nullptr) continue;
    for (const SchemaId part : list_of(*list, fmt::format("{}/{}", pointer, name))) check_cycles(part, depth + 1);
  }
  cycle_state_[schema] = done;
}

const std::vector<SchemaShape>& SchemaShapes::shapes(const SchemaIds& schemas) {
  if (const auto known = shapes_.find(schemas); known != shapes_.end()) return known->second;
  for (const SchemaId schema : schemas) check_cycles(schema, 0);
  Partial partial;
  for (auto it = schemas.rbegin(); it != schemas.rend(); ++it) partial.todo.push_back({*it});
  std::vector<SchemaShape> found;
  expand(std::move(partial), found);
  return shapes_[schemas] = std::move(found);
}

void SchemaShapes::expand(Partial partial, std::vector<SchemaShape>& out) {
  while (!partial.todo.empty()) {
    const Todo todo = partial.todo.back();
    partial.todo.pop_back();
    if (!partial.seen.insert(todo.schema).second) continue;
    const std::string pointer = located_[todo.schema].pointer;
    if (++work_ > kMostShapeWork) fail(pointer, "the schema has too many alternatives; make it simpler");
    const JsonValue& value = *located_[todo.schema].value;
    if (value.is(JsonValue::Type::boolean)) {
      if (!value.truth) return;
      continue;
    }
    apply(todo.schema, partial.shape);
    if (partial.shape.types == 0) return;
    if (const JsonValue* ref = value.member("$ref")) partial.todo.push_back({resolve(*ref, pointer + "/$ref")});
    if (const JsonValue* all = value.member("allOf")) {
      std::vector<SchemaId> parts = list_of(*all, pointer + "/allOf");
      for (auto it = parts.rbegin(); it != parts.rend(); ++it) partial.todo.push_back({*it});
    }
    std::vector<std::vector<SchemaId>> choices;
    if (const JsonValue* any = value.member("anyOf")) choices.push_back(list_of(*any, pointer + "/anyOf"));
    if (const JsonValue* one = value.member("oneOf"); one != nullptr && !todo.without_one_of) {
      choices.push_back(list_of(*one, pointer + "/oneOf"));
      check_disjoint(partial, todo.schema, choices.back());
    }
    if (choices.empty()) continue;
    // Every pair of an alternative of each.
    for (const SchemaId first : choices[0]) {
      for (const SchemaId second : choices.size() > 1 ? choices[1] : std::vector<SchemaId>{first}) {
        Partial chosen = partial;
        if (second != first) chosen.todo.push_back({second});
        chosen.todo.push_back({first});
        expand(std::move(chosen), out);
      }
    }
    return;
  }
  finish(std::move(partial.shape), out);
}

// Two alternatives that both hold would make a value invalid, and that is beyond a grammar: so no two may.
void SchemaShapes::check_disjoint(const Partial& partial, SchemaId schema, const std::vector<SchemaId>& alternatives) {
  if (!disjoint_.insert(schema).second) return;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    for (std::size_t j = i + 1; j < alternatives.size(); ++j) {
      Partial both = partial;
      both.seen.erase(schema);
      both.todo = {{alternatives[j]}, {alternatives[i]}, {schema, true}};
      std::vector<SchemaShape> shared;
      expand(std::move(both), shared);
      if (std::all_of(shared.begin(), shared.end(), [this](const SchemaShape& s) { return is_surely_empty(s, 0); }))
        continue;
      fail(located_[schema].pointer + "/oneOf",
           fmt::format(
               "alternatives {} and {} may both hold for a value, which a grammar cannot keep apart; write anyOf, "
               "or give each a required member of another constant",
               i, j));
    }
  }
}

void SchemaShapes::finish(SchemaShape shape, std::vector<SchemaShape>& out) {
  if (shape.values) {
    std::vector<const JsonValue*> kept;
    for (const JsonValue* value : *shape.values) {
      if (matches(shape, *value)) kept.push_back(value);
    }
    if (kept.empty()) return;
    shape.values = std::move(kept);
  }
  out.push_back(std::move(shape));
}

std::uint8_t SchemaShapes::types_of(const JsonValue& type, const std::string& pointer, bool& whole) const {
  constexpr std::array<std::string_view, 7> kNames = {"null",  "boolean", "number", "string",
                                                      "array", "object",  "integer"};
  std::vector<const JsonValue*> names;
  if (type.is(JsonValue::Type::string)) names.push_back(&type);
  if (type.is(JsonValue::Type::array)) {
    for (const JsonValue& item : type.items) names.push_back(&item);
  }
  std::uint8_t types = 0;
  bool any_number = false;
  whole = false;
  for (const JsonValue* name : names) {
    const auto found = std::find(kNames.begin(), kNames.end(), std::string_view(name->text));
    if (!name->is(JsonValue::Type::string) || found == kNames.end())
      fail(pointer, fmt::format("there is no such type; choose of {}", list_texts(kNames)));
    const bool integer = *found == "integer";
    any_number |= *found == "number";
    whole |= integer;
    types |=
        integer ? SchemaShape::bit(JsonValue::Type::number) : static_cast<std::uint8_t>(1 << (found - kNames.begin()));
  }
  if (names.empty()) fail(pointer, fmt::format("a type is one or several of {}", list_texts(kNames)));
  whole = whole && !any_number;
  return types;
}

void SchemaShapes::apply(SchemaId schema, SchemaShape& shape) {
  const JsonValue& value = *located_[schema].value;
  const std::string pointer = located_[schema].pointer;
  if (const JsonValue* type = value.member("type")) {
    bool whole = false;
    shape.types &= types_of(*type, pointer + "/type", whole);
    shape.numbers.whole |= whole;
  }
  const auto restrict = [&](std::vector<const JsonValue*> values) {
    if (shape.values) {
      constexpr std::size_t kMostPairs = 4'000'000;
      if (values.size() * shape.values->size() > kMostPairs) fail(pointer, "two enums that are too long to compare");
      std::erase_if(values, [&](const JsonValue* value_here) {
        return std::none_of(shape.values->begin(), shape.values->end(),
                            [&](const JsonValue* other) { return other->equals(*value_here); });
      });
    }
    shape.values = std::move(values);
  };
  if (const JsonValue* one = value.member("const")) restrict({one});
  if (const JsonValue* list = value.member("enum")) {
    if (!list->is(JsonValue::Type::array)) fail(pointer + "/enum", "this needs a list of values");
    std::vector<const JsonValue*> values;
    for (const JsonValue& item : list->items) values.push_back(&item);
    restrict(std::move(values));
  }
  apply_numbers(value, pointer, shape);
  apply_strings(value, pointer, shape);
  apply_arrays(value, pointer, shape);
  apply_objects(value, pointer, shape);
}

const CharacterAutomaton& SchemaShapes::automaton(const SchemaShape::Text& text) {
  if (const auto known = automata_.find(text.regex); known != automata_.end()) return known->second;
  try {
    return automata_.emplace(text.regex, CharacterAutomaton::of(parse_regex(text.regex, "pattern"), true))
        .first->second;
  } catch (const Error& error) {
    fail(text.pointer, error.what());
  }
}

SchemaIds SchemaShapes::item(const SchemaShape& shape, std::size_t index) {
  std::set<SchemaId> ids;
  for (const SchemaShape::ArrayPart& part : shape.arrays) {
    if (index < part.prefix.size()) {
      ids.insert(part.prefix[index]);
    } else if (part.items) {
      ids.insert(*part.items);
    }
  }
  return {ids.begin(), ids.end()};
}

SchemaIds SchemaShapes::member(const SchemaShape& shape, const std::string& name) {
  std::set<SchemaId> ids;
  for (const SchemaShape::ObjectPart& part : shape.objects) {
    bool spoken_of = false;
    for (const auto& [property, schema] : part.properties) {
      if (property != name) continue;
      ids.insert(schema);
      spoken_of = true;
    }
    for (const auto& [text, schema] : part.patterns) {
      if (!automaton(text).matches(name)) continue;
      ids.insert(schema);
      spoken_of = true;
    }
    if (!spoken_of && part.additional) ids.insert(*part.additional);
  }
  return {ids.begin(), ids.end()};
}

std::vector<SchemaShape::Text> SchemaShapes::patterns_of(const SchemaShape& shape) {
  std::vector<SchemaShape::Text> texts;
  for (const SchemaShape::ObjectPart& part : shape.objects) {
    for (const auto& pattern : part.patterns) {
      const SchemaShape::Text& text = pattern.first;
      if (std::none_of(texts.begin(), texts.end(), [&](const auto& other) { return other.regex == text.regex; }))
        texts.push_back(text);
    }
  }
  return texts;
}

SchemaIds SchemaShapes::other_member(const SchemaShape& shape, const std::vector<SchemaShape::Text>& matching) {
  std::set<SchemaId> ids;
  for (const SchemaShape::ObjectPart& part : shape.objects) {
    bool spoken_of = false;
    for (const auto& pattern : part.patterns) {
      const SchemaShape::Text& text = pattern.first;
      if (std::none_of(matching.begin(), matching.end(), [&](const auto& other) { return other.regex == text.regex; }))
        continue;
      ids.insert(pattern.second);
      spoken_of = true;
    }
    if (!spoken_of && part.additional) ids.insert(*part.additional);
  }
  return {ids.begin(), ids.end()};
}

bool SchemaShapes::is_surely_empty(const SchemaIds& schemas, int depth) {
  const std::vector<SchemaShape>& found = shapes(schemas);
  return std::all_of(found.begin(), found.end(),
                     [&](const SchemaShape& shape) { return is_surely_empty(shape, depth); });
}

bool SchemaShapes::is_surely_empty(const SchemaShape& shape, int depth) {
  using Type = JsonValue::Type;
  constexpr int kMostDepth = 4;
  if (shape.values || shape.has(Type::null) || shape.has(Type::boolean)) return false;  // Values have been checked.
  if (depth > kMostDepth) return false;
  if (shape.has(Type::number) && !shape.numbers.is_empty()) return false;
  if (shape.has(Type::string) && !shape.length.is_empty()) {
    if (shape.texts.size() < 2) return false;
    CharacterAutomaton all = automaton(shape.texts[0]);
    for (std::size_t i = 1; i < shape.texts.size() && !all.empty(); ++i)
      all = all.shared_with(automaton(shape.texts[i]));
    if (!all.empty()) return false;
  }
  if (shape.has(Type::array) && !shape.num_items.is_empty()) {
    bool possible = true;
    for (std::uint32_t i = 0; i < std::min(shape.num_items.least, 8u) && possible; ++i)
      possible = !is_surely_empty(item(shape, i), depth + 1);
    if (possible) return false;
  }
  if (shape.has(Type::object) && !shape.num_members.is_empty()) {
    if (std::none_of(shape.required.begin(), shape.required.end(),
                     [&](const std::string& name) { return is_surely_empty(member(shape, name), depth + 1); }))
      return false;
  }
  return true;
}

}  // namespace semfuse
