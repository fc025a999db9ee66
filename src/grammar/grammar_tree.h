// A grammar as written: rules whose bodies are trees of expressions.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace semfuse {

struct CodePointRange {
  char32_t low = 0;
  char32_t high = 0;  // Inclusive.
};

// Expressions of all rules in one list, children before their parent; the body of a rule is the last of its range.
struct GrammarTree {
  static constexpr std::uint32_t kUnbounded = std::numeric_limits<std::uint32_t>::max();

  enum class Kind : std::uint8_t { literal, characters, reference, sequence, choice, repeat };

  struct Expression {
    Kind kind = Kind::sequence;
    std::uint32_t offset = 0;             // Where it begins in the text.
    std::uint32_t height = 1;             // Of the tree below it, itself included.
    std::uint32_t rule = 0;               // reference: the rule.
    std::vector<std::uint32_t> settings;  // reference: what it sets, one a knob.
    std::uint32_t context = 0;            // literal, characters: what is set there.
    std::uint32_t least = 0;              // repeat: how often at least and at most.
    std::uint32_t most = 0;
    std::string bytes;                    // literal
    std::vector<CodePointRange> ranges;   // characters: ascending, apart.
    std::vector<std::uint32_t> children;  // sequence, choice, repeat (one)
  };

  struct Rule {
    std::string name;
    std::uint32_t offset = 0;  // Of its definition, or of its first use while it has none.
    bool defined = false;
    std::uint32_t first_expression = 0;
    std::uint32_t body = 0;
  };

  // A knob set for what a rule describes, as written.
  struct Setting {
    std::string knob;
    std::string value;
    std::uint32_t offset = 0;  // Where it first stands.
  };

  // What can be set at one place: settings, one a knob, ascending.
  using Contexts = std::vector<std::vector<std::uint32_t>>;

  std::vector<Expression> expressions;
  std::vector<Rule> rules;
  std::uint32_t root = 0;
  std::vector<Setting> settings;  // Each once.
  // See spread_settings(); the first is nothing.
  Contexts contexts = {{}};
};

}  // namespace semfuse
