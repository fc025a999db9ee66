#include "features/bank_declaration.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "core/attribute_name.h"
#include "core/nearest_word.h"
#include "core/text_lines.h"
#include "features/banks.h"
#include "features/universal_tag.h"
#include "io/file.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kMaxBankBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxFeatures = 512;
constexpr std::size_t kMaxBack = 8;
const std::vector<std::string> kTermWords = {"tag",    "words", "ending", "is",    "class",  "low", "high",
                                             "medium", "value", "after",  "begun", "around", "not"};

struct Piece {
  std::string_view text;
  bool operator_mark = false;  // | or & that stands alone and is not in quotes.
};

// Splits at spaces. What is in double quotes loses them: "|" and """ are words like others.
std::vector<Piece> pieces_of(std::string_view text) {
  std::vector<Piece> pieces;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t\n");
    if (begin == text.npos) return pieces;
    text.remove_prefix(begin);
    std::string_view piece = text.substr(0, text.find_first_of(" \t\n"));
    text.remove_prefix(piece.size());
    const bool quoted = piece.size() >= 3 && piece.starts_with('"') && piece.ends_with('"');
    if (quoted) piece = piece.substr(1, piece.size() - 2);
    pieces.push_back({piece, !quoted && (piece == "|" || piece == "&")});
  }
}

// Reads the terms of one feature from its pieces.
class TermReader {
 public:
  explicit TermReader(std::span<const Piece> pieces) : rest_(pieces) {}

  bool at_end() const { return rest_.empty(); }
  bool at_operator() const { return !rest_.empty() && rest_.front().operator_mark; }
  std::string_view take() {
    if (at_end() || at_operator()) throw Error("a term ends too early; banks/README.md shows how to write one");
    const std::string_view text = rest_.front().text;
    rest_ = rest_.subspan(1);
    return text;
  }
  char take_operator() {
    const char mark = rest_.front().text[0];
    rest_ = rest_.subspan(1);
    return mark;
  }
  bool skip(std::string_view word) {
    if (at_end() || at_operator() || rest_.front().text != word) return false;
    rest_ = rest_.subspan(1);
    return true;
  }

  BankTerm term() {
    BankTerm term;
    term.negated = skip("not");
    if (skip("after")) term.back = take_count();
    term.begun = skip("begun");
    if (term.begun && term.back > 0) throw Error("of the words before nothing is unfinished; write after or begun");
    const std::string_view what = term.begun ? "is" : take();
    if (what == "tag") {
      term.kind = BankTerm::Kind::tag;
      take_values(term);
      for (const std::string& name : term.values) check_tag(name);
    } else if (what == "words" || what == "ending") {
      term.kind = what == "words" ? BankTerm::Kind::words : BankTerm::Kind::ending;
      take_values(term);
    } else if (what == "is") {
      term.kind = BankTerm::Kind::surface;
      term.values.emplace_back(take());
      check_surface(term);
    } else if (what == "class") {
      term.kind = BankTerm::Kind::in_class;
      take_name(term);
    } else {
      term.kind = BankTerm::Kind::degree;
      take_level(term, what);
      if (!skip("of")) throw Error(fmt::format("{} is of an attribute: write {} of polarity", what, what));
      take_name(term);
    }
    if (!at_end() && !at_operator()) {
      throw Error(fmt::format("{} follows a whole term; write | (or) or & (and) between terms",
                              quoted_text(rest_.front().text)));
    }
    return term;
  }

 private:
  static std::optional<double> number_of(std::string_view text) {
    double number = 0.0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
    return number;
  }

  // 1 if no number is there.
  std::size_t take_count() {
    const std::optional<double> count = at_end() || at_operator() ? std::nullopt : number_of(rest_.front().text);
    if (!count) return 1;
    const std::string_view text = take();
    if (!(*count >= 1.0 && *count <= static_cast<double>(kMaxBack) && *count == std::floor(*count))) {
      throw Error(fmt::format("after {}: choose a number of words from 1 to {}", quoted_text(text), kMaxBack));
    }
    return static_cast<std::size_t>(*count);
  }

  void take_values(BankTerm& term) {
    do {
      const std::string_view value = take();
      if (valid_utf8_prefix(value) != value.size()) throw Error(fmt::format("{} is not UTF-8", quoted_text(value)));
      term.values.emplace_back(value);
    } while (!at_end() && !at_operator());
  }

  void take_name(BankTerm& term) {
    std::string_view name = take();
    if (term.kind == BankTerm::Kind::degree && name.starts_with('-')) {
      term.sign = -1.0;
      name.remove_prefix(1);
    }
    if (!is_attribute_name(name)) throw Error(fmt::format("{} is no name (a-z, 0-9 and _)", quoted_text(name)));
    term.values.emplace_back(name);
  }

  void take_level(BankTerm& term, std::string_view what) {
    if (what == "around") {
      const std::optional<double> center = number_of(take());
      const std::optional<double> width = skip("width") ? number_of(take()) : std::nullopt;
      if (!center || !width || !(*center >= 0.0 && *center <= 1.0) || !(*width > 0.0)) {
        throw Error("write around CENTRE width WIDTH of ATTRIBUTE, the centre in [0, 1] and the width above 0");
      }
      term.level = BankTerm::Level::around;
      term.center = *center;
      term.width = *width;
      return;
    }
    static const std::map<std::string_view, BankTerm::Level> kLevels = {{"low", BankTerm::Level::low},
                                                                        {"medium", BankTerm::Level::medium},
                                                                        {"high", BankTerm::Level::high},
                                                                        {"value", BankTerm::Level::value}};
    const auto found = kLevels.find(what);
    if (found == kLevels.end()) {
      throw Error(fmt::format("a term begins with one of {}, not with {}{}", fmt::join(kTermWords, ", "),
                              quoted_text(what), did_you_mean(what, kTermWords)));
    }
    term.level = found->second;
  }

  static void check_tag(const std::string& name) {
    if (find_universal_tag(name)) return;
    const std::vector<std::string> tags(kUniversalTags.begin(), kUniversalTags.end());
    throw Error(fmt::format("there is no part of speech {}; they are {}{}", quoted_text(name), fmt::join(tags, " "),
                            did_you_mean(name, tags)));
  }

  static void check_surface(const BankTerm& term) {
    const std::vector<std::string>& names = surface_names();
    const std::string& name = term.values[0];
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(fmt::format("a word is one of {}, not {}{}", fmt::join(names, ", "), quoted_text(name),
                              did_you_mean(name, names)));
    }
    if (term.begun && (name == "first" || name == "start" || name == "end" || name == "stop")) {
      throw Error(fmt::format("of an unfinished word it is not known whether it is {}", name));
    }
  }

  std::span<const Piece> rest_;
};

DeclaredFeature parse_feature(std::string_view text, std::size_t line) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) throw Error("there is no colon after the feature's name; write NAME: TERM");
  DeclaredFeature feature = {.name = std::string(text.substr(0, colon)), .alternatives = {{}}, .line = line};
  if (!is_attribute_name(feature.name)) {
    throw Error(fmt::format("{} is no name of a feature (a-z, 0-9 and _, at most 32)", quoted_text(feature.name)));
  }
  const std::vector<Piece> pieces = pieces_of(text.substr(colon + 1));
  TermReader reader(pieces);
  while (true) {
    feature.alternatives.back().push_back(reader.term());
    if (reader.at_end()) return feature;
    if (reader.take_operator() == '|') feature.alternatives.emplace_back();
  }
}

}  // namespace

BankDeclaration BankDeclaration::parse(std::string_view text, std::string_view origin) {
  BankDeclaration bank = {.features = {}, .text = std::string(text), .origin = std::string(origin)};
  std::map<std::string, std::size_t> lines;  // By the feature's name.
  std::string declared;
  std::size_t declared_at = 0;
  const auto finish = [&] {
    if (declared.empty()) return;
    try {
      DeclaredFeature feature = parse_feature(declared, declared_at);
      const auto [first, added] = lines.emplace(feature.name, declared_at);
      if (!added) throw Error(fmt::format("{} is declared twice (first at line {})", feature.name, first->second));
      if (bank.features.size() == kMaxFeatures) throw Error(fmt::format("more than {} features", kMaxFeatures));
      bank.features.push_back(std::move(feature));
    } catch (const Error& error) {
      throw Error(fmt::format("{}:{}: {}", origin, declared_at, error.what()));
    }
    declared.clear();
  };
  text = without_byte_order_mark(text);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.find_first_not_of(" \t") == line.npos || line.starts_with('#')) continue;
    if (line.starts_with(' ') || line.starts_with('\t')) {
      if (declared.empty())
        throw Error(fmt::format("{}:{}: there is no feature that this goes on with", origin, number));
      declared += '\n';
    } else {
      finish();
      declared_at = number;
    }
    declared += line;
  }
  finish();
  if (bank.features.empty()) throw Error(fmt::format("{}: declares no feature", origin));
  // A comment's too: models hold the whole text.
  if (valid_utf8_prefix(bank.text) != bank.text.size()) throw Error(fmt::format("{}: is not UTF-8", origin));
  return bank;
}

BankDeclaration BankDeclaration::load(const std::string& name_or_file) {
  for (const EmbeddedText& bank : embedded_banks()) {
    if (bank.name == name_or_file) return parse(bank.text, fmt::format("banks/{}.bank", bank.name));
  }
  return parse(read_text(name_or_file, kMaxBankBytes), name_or_file);
}

}  // namespace semfuse
