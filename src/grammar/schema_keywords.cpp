// What single keywords of a schema ask, and whether a value does it.
#include <fmt/format.h>

#include <algorithm>

#include "grammar/gbnf_parser.h"
#include "grammar/schema_shapes.h"
#include "grammar/string_formats.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

using Type = JsonValue::Type;

std::size_t num_characters(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool holds(const SchemaShape::Counts& counts, std::size_t count) {
  return count >= counts.least && count <= counts.most;
}

}  // namespace

void SchemaShapes::apply_count(const JsonValue& schema, const std::string& pointer, std::string_view least,
                               std::string_view most, SchemaShape::Counts& counts) const {
  for (const std::string_view name : {least, most}) {
    const JsonValue* value = schema.member(name);
    if (value == nullptr) continue;
    const std::string place = fmt::format("{}/{}", pointer, name);
    if (!value->is(Type::number)) fail(place, "this needs a count");
    Decimal number;
    try {
      number = Decimal::parse(value->text);
    } catch (const Error& error) {
      fail(place, error.what());
    }
    if (number.negative || !number.is_whole()) fail(place, "this needs a count");
    if (number.whole.size() > 9 || (number.whole.empty() ? 0 : std::stoul(number.whole)) > kMaxRepetitions) {
      fail(place, fmt::format("a count above {}; choose a smaller one, or leave it out", kMaxRepetitions));
    }
    const auto count = static_cast<std::uint32_t>(number.whole.empty() ? 0 : std::stoul(number.whole));
    if (name == least) {
      counts.least = std::max(counts.least, count);
    } else {
      counts.most = std::min(counts.most, count);
    }
  }
}

void SchemaShapes::apply_numbers(const JsonValue& schema, const std::string& pointer, SchemaShape& shape) {
  const auto number = [&](const char* name) -> std::optional<Decimal> {
    const JsonValue* value = schema.member(name);
    if (value == nullptr) return std::nullopt;
    const std::string place = fmt::format("{}/{}", pointer, name);
    if (!value->is(Type::number)) fail(place, "this needs a number");
    try {
      return Decimal::parse(value->text);
    } catch (const Error& error) {
      fail(place, error.what());
    }
  };
  const auto raise = [&](std::optional<Decimal> value, bool exclusive) {
    if (!value) return;
    std::optional<NumberBounds::Bound>& least = shape.numbers.least;
    if (!least || *value > least->value) {
      least = {.value = *value, .exclusive = exclusive};
    } else if (*value == least->value) {
      least->exclusive |= exclusive;
    }
  };
  const auto lower = [&](std::optional<Decimal> value, bool exclusive) {
    if (!value) return;
    std::optional<NumberBounds::Bound>& most = shape.numbers.most;
    if (!most || *value < most->value) {
      most = {.value = *value, .exclusive = exclusive};
    } else if (*value == most->value) {
      most->exclusive |= exclusive;
    }
  };
  raise(number("minimum"), false);
  raise(number("exclusiveMinimum"), true);
  lower(number("maximum"), false);
  lower(number("exclusiveMaximum"), true);
  if (const std::optional<Decimal> multiple = number("multipleOf")) {
    if (multiple->negative || multiple->is_zero()) fail(pointer + "/multipleOf", "this needs a number above zero");
    std::vector<Decimal>& all = shape.numbers.multiples_of;
    if (std::find(all.begin(), all.end(), *multiple) == all.end()) all.push_back(*multiple);
  }
}

void SchemaShapes::apply_strings(const JsonValue& schema, const std::string& pointer, SchemaShape& shape) {
  apply_count(schema, pointer, "minLength", "maxLength", shape.length);
  const auto add = [&shape](SchemaShape::Text text) {
    if (std::none_of(shape.texts.begin(), shape.texts.end(),
                     [&](const auto& other) { return other.regex == text.regex; }))
      shape.texts.push_back(std::move(text));
  };
  if (const JsonValue* pattern = schema.member("pattern")) {
    if (!pattern->is(Type::string)) fail(pointer + "/pattern", "this needs a string with a regular expression");
    add({.regex = pattern->text, .pointer = pointer + "/pattern"});
  }
  if (const JsonValue* format = schema.member("format")) {
    const std::optional<std::string> regex = regex_of_format(format->text);
    if (!format->is(Type::string) || !regex) {
      fail(pointer + "/format",
           fmt::format("this format is not supported; choose of {}, or write a pattern", known_formats()));
    }
    add({.regex = *regex, .pointer = pointer + "/format"});
  }
}

void SchemaShapes::apply_arrays(const JsonValue& schema, const std::string& pointer, SchemaShape& shape) {
  apply_count(schema, pointer, "minItems", "maxItems", shape.num_items);
  if (const JsonValue* unique = schema.member("uniqueItems"); unique != nullptr && unique->truth) {
    if (shape.num_items.most > 1) {
      fail(pointer + "/uniqueItems", "a grammar cannot keep items apart; remove it, or set maxItems to 1");
    }
  }
  SchemaShape::ArrayPart part;
  if (const JsonValue* prefix = schema.member("prefixItems")) part.prefix = list_of(*prefix, pointer + "/prefixItems");
  if (const JsonValue* items = schema.member("items")) {
    if (items->is(Type::array)) fail(pointer + "/items", "a list of schemas is called prefixItems since draft 2020-12");
    part.items = id_of(*items, pointer + "/items");
  }
  if (!part.prefix.empty() || part.items) shape.arrays.push_back(std::move(part));
}

void SchemaShapes::apply_objects(const JsonValue& schema, const std::string& pointer, SchemaShape& shape) {
  apply_count(schema, pointer, "minProperties", "maxProperties", shape.num_members);
  const auto members_of = [&](const char* name) -> const JsonValue* {
    const JsonValue* value = schema.member(name);
    if (value != nullptr && !value->is(Type::object))
      fail(fmt::format("{}/{}", pointer, name), "this needs an object of schemas");
    return value;
  };
  const auto pointer_escaped = [](std::string name) {
    for (std::size_t i = 0; i < name.size(); ++i) {
      if (name[i] == '~')
        name.replace(i++, 1, "~0");
      else if (name[i] == '/')
        name.replace(i++, 1, "~1");
    }
    return name;
  };
  SchemaShape::ObjectPart part;
  if (const JsonValue* properties = members_of("properties")) {
    for (std::size_t i = 0; i < properties->names.size(); ++i) {
      const std::string& name = properties->names[i];
      part.properties.emplace_back(name, id_of(properties->items[i], pointer + "/properties/" + pointer_escaped(name)));
    }
  }
  if (const JsonValue* patterns = members_of("patternProperties")) {
    for (std::size_t i = 0; i < patterns->names.size(); ++i) {
      const std::string place = pointer + "/patternProperties/" + pointer_escaped(patterns->names[i]);
      part.patterns.push_back({{patterns->names[i], place}, id_of(patterns->items[i], place)});
    }
  }
  if (const JsonValue* additional = schema.member("additionalProperties"))
    part.additional = id_of(*additional, pointer + "/additionalProperties");
  if (!part.properties.empty() || !part.patterns.empty() || part.additional) shape.objects.push_back(std::move(part));
  const JsonValue* required = schema.member("required");
  if (required == nullptr) return;
  if (!required->is(Type::array)) fail(pointer + "/required", "this needs a list of names");
  for (const JsonValue& name : required->items) {
    if (!name.is(Type::string)) fail(pointer + "/required", "this needs a list of names");
    if (std::find(shape.required.begin(), shape.required.end(), name.text) == shape.required.end())
      shape.required.push_back(name.text);
  }
}

bool SchemaShapes::accepts(const SchemaIds& schemas, const JsonValue& value) {
  const std::vector<SchemaShape>& found = shapes(schemas);
  return std::any_of(found.begin(), found.end(), [&](const SchemaShape& shape) {
    const bool listed = !shape.values || std::any_of(shape.values->begin(), shape.values->end(),
                                                     [&](const JsonValue* one) { return one->equals(value); });
    return listed && matches(shape, value);
  });
}

// Whatever values the shape lists.
bool SchemaShapes::matches(const SchemaShape& shape, const JsonValue& value) {
  if (!shape.has(value.type)) return false;
  switch (value.type) {
    case Type::null:
    case Type::boolean:
      return true;
    case Type::number:
      return shape.numbers.contains(Decimal::parse(value.text));
    case Type::string:
      return holds(shape.length, num_characters(value.text)) &&
             std::all_of(shape.texts.begin(), shape.texts.end(),
                         [&](const SchemaShape::Text& text) { return automaton(text).matches(value.text); });
    case Type::array:
      if (!holds(shape.num_items, value.items.size())) return false;
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        if (!accepts(item(shape, i), value.items[i])) return false;
      }
      return true;
    case Type::object:
      break;
  }
  if (!holds(shape.num_members, value.names.size())) return false;
  for (const std::string& name : shape.required) {
    if (value.member(name) == nullptr) return false;
  }
  for (std::size_t i = 0; i < value.names.size(); ++i) {
    if (!accepts(member(shape, value.names[i]), value.items[i])) return false;
  }
  return true;
}

}  // namespace semfuse
