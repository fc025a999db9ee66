// Objects of a JSON Schema as rules: members in order or in any, that may be missing, and others beside them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "grammar/schema_shapes.h"
#include "semfuse/grammar.h"

namespace semfuse {

// Where rules go while a schema is written, and how its JSON is spaced.
class SchemaRules {
 public:
  explicit SchemaRules(const JsonSchemaOptions& options) : options_(options) {}
  virtual ~SchemaRules() = default;

  virtual SchemaShapes& shapes() = 0;
  virtual std::string rule_of(const SchemaIds& ids) = 0;    // Its name; written sooner or later.
  virtual std::string use(std::string_view common) = 0;     // A rule that all schemas share.
  virtual std::string new_name(std::string_view like) = 0;  // Of no other rule.
  virtual void add_rule(const std::string& name, const std::string& body) = 0;
  // The name of the rule for all of it. In a string, characters are escaped as JSON wants.
  virtual std::string add_automaton(const CharacterAutomaton& automaton, std::string_view like, bool in_string) = 0;

  const JsonSchemaOptions& options() const { return options_; }
  std::string space();  // Behind an opening bracket and before a closing one: a rule, or nothing.
  std::string comma();  // With what stands behind it.
  std::string colon();

  // With blanks between what is not empty.
  static std::string join(std::initializer_list<std::string> parts);

 private:
  JsonSchemaOptions options_;
};

// An expression for the objects of a shape. `name` is for rules that it needs.
std::string write_object(SchemaRules& rules, const SchemaShape& shape, const std::string& name,
                         const std::string& pointer);

}  // namespace semfuse
