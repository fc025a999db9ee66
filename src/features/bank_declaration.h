// The features of a bank for natural text as people write them, one a line:
//
//   past: tag VERB AUX & ending ed | words was were had did
//   negation: words not n't never no_longer
//   pos_high: high of polarity
//   str_high: high of strength | after high of strength
//
// banks/README.md has the whole language.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace semfuse {

// One thing that is true of a word to some degree.
struct BankTerm {
  enum class Kind {
    tag,       // `tag NOUN PROPN`: its part of speech is one of the values.
    words,     // `words not n't no_longer`: it is one of the values, or the last word of one; letter case is free.
    ending,    // `ending ed ing`: it ends in one of the values and is longer; letter case is free.
    surface,   // `is capital`: what it looks like, a name of kSurfaceNames.
    in_class,  // `class weekday`: of the lexicon's class.
    degree,    // `high of polarity`: the degree of a lexicon's attribute.
  };
  Kind kind = Kind::surface;
  std::vector<std::string> values;  // The surface's, class' or attribute's name is the only one.
  bool negated = false;             // `not ...`
  std::size_t back = 0;             // `after ...`, `after 3 ...`: it is true of one of so many words before this one.
  bool begun = false;               // `begun ...`: it is true of the unfinished word, as far as that is known.

  // Of a degree.
  enum class Level { low, medium, high, value, around };
  Level level = Level::value;
  double sign = 1.0;    // -1: of the negative attribute, `low of -polarity`.
  double center = 0.0;  // `around 0.5 width 0.2 of polarity`
  double width = 0.0;

  bool operator==(const BankTerm&) const = default;
};

// A feature is the largest of its alternatives (`|`), each of which is the smallest of its terms (`&`).
struct DeclaredFeature {
  std::string name;  // Of a-z, 0-9 and _, at most 32.
  std::vector<std::vector<BankTerm>> alternatives;
  std::size_t line = 0;  // Where it was declared.
};

struct BankDeclaration {
  std::vector<DeclaredFeature> features;
  std::string text;    // What was read.
  std::string origin;  // Where from, for messages.

  // Lines that begin with # and empty ones do not count; a line that begins with a space goes on with the one before
  // it. Throws Error as "origin:line: what".
  static BankDeclaration parse(std::string_view text, std::string_view origin);
  // A bank that the library carries, or a file of that name. Throws Error.
  static BankDeclaration load(const std::string& name_or_file);
};

// What `is` and `begun` may name.
const std::vector<std::string>& surface_names();

}  // namespace semfuse
