#include "grammar/gbnf_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "grammar/utf8.h"
#include "io/quoted_text.h"

namespace semfuse {
namespace {

bool is_plain(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Of a class. Escaped unless it is a letter or digit, so that nothing looks like a range or a setting.
std::string class_character(char32_t c) {
  if (is_plain(c)) return std::string(1, static_cast<char>(c));
  const auto code = static_cast<std::uint32_t>(c);
  if (code < 0x100) return fmt::format("\\x{:02X}", code);
  return code < 0x10000 ? fmt::format("\\u{:04X}", code) : fmt::format("\\U{:08X}", code);
}

std::string in_group(const std::string& text) {
  return "(" + text + ")";
}

class RegexWriter {
 public:
  RegexWriter(const Regex& regex, const CharactersAsText& characters) : regex_(regex), characters_(characters) {}

  // In a choice, a sequence, or right before a count.
  enum class Around { choice, sequence, repeat };

  std::string write(std::uint32_t index, Around around) const {
    const Regex::Node& node = regex_[index];
    switch (node.kind) {
      case Regex::Kind::characters:
        return write_characters(node, around);
      case Regex::Kind::sequence: {
        const std::string text = write_sequence(node);
        return around == Around::repeat ? in_group(text) : text;
      }
      case Regex::Kind::choice: {
        std::string text;
        for (const std::uint32_t child : node.children) {
          text += text.empty() ? "" : " | ";
          text += write(child, Around::choice);
        }
        return around == Around::choice ? text : in_group(text);
      }
      case Regex::Kind::repeat: {
        const std::string text = write(node.children[0], Around::repeat) + gbnf_count(node.least, node.most);
        return around == Around::repeat ? in_group(text) : text;
      }
      case Regex::Kind::begin:
      case Regex::Kind::end:
        break;
    }
    return "\"\"";
  }

 private:
  std::string write_characters(const Regex::Node& node, Around around) const {
    if (node.ranges.empty()) return std::string(kNever);
    const std::string text = characters_(node.ranges);
    return around != Around::choice && text.find(" | ") != text.npos ? in_group(text) : text;
  }

  // Characters that stand alone one after the other become one literal.
  std::string write_sequence(const Regex::Node& node) const {
    std::string text;
    std::string literal;
    const auto flush = [&] {
      if (literal.empty()) return;
      text += (text.empty() ? "\"" : " \"") + literal + "\"";
      literal.clear();
    };
    for (const std::uint32_t child : node.children) {
      const std::string part = write(child, Around::sequence);
      const bool is_literal =
          regex_[child].kind == Regex::Kind::characters && part.starts_with('"') && part.ends_with('"');
      if (is_literal) {
        literal += part.substr(1, part.size() - 2);
        continue;
      }
      flush();
      text += (text.empty() ? "" : " ") + part;
    }
    flush();
    return text.empty() ? "\"\"" : text;
  }

  const Regex& regex_;
  const CharactersAsText& characters_;
};

}  // namespace

std::string gbnf_literal(std::string_view utf8) {
  std::string text = "\"";
  while (!utf8.empty()) {
    const std::string_view character = utf8.substr(0, std::max<std::size_t>(utf8_character_length(utf8), 1));
    utf8.remove_prefix(character.size());
    const auto byte = static_cast<unsigned char>(character.front());
    if (character == "\"" || character == "\\") {
      text.append("\\").append(character);
    } else if (byte < 0x20 || byte == 0x7F) {
      text += fmt::format("\\x{:02X}", byte);
    } else if (character.size() > 1 && is_unsafe_to_show(character)) {
      text += fmt::format("\\u{:04X}", static_cast<std::uint32_t>(code_point(character)));
    } else {
      text += character;
    }
  }
  return text + "\"";
}

std::string gbnf_characters(const std::vector<CodePointRange>& ranges) {
  if (ranges.size() == 1 && ranges[0].low == ranges[0].high) {
    std::string character;
    append_utf8(ranges[0].low, character);
    return gbnf_literal(character);
  }
  std::string text = "[";
  for (const CodePointRange& range : ranges) {
    text += class_character(range.low);
    if (range.high > range.low + 1) text += '-';
    if (range.high > range.low) text += class_character(range.high);
  }
  return text + "]";
}

std::string gbnf_json_characters(const std::vector<CodePointRange>& ranges) {
  static const std::vector<std::pair<char32_t, std::string_view>> kShort = {
      {'\b', "b"}, {'\t', "t"}, {'\n', "n"}, {'\f', "f"}, {'\r', "r"}, {'"', "\\\""}, {'\\', "\\\\"}};
  // All that has to be escaped, in short.
  static const std::string kAllEscapes = R"("\\" (["\\bfnrt] | "u00" ("0" [0-7bBeEfF] | "1" [0-9a-fA-F])))";
  std::vector<CodePointRange> raw;
  std::string escaped;
  const auto add = [&](const std::string& expression) { escaped += (escaped.empty() ? "" : " | ") + expression; };
  for (const CodePointRange& range : ranges) {
    for (char32_t c = range.low; c <= std::min<char32_t>(range.high, '\\'); ++c) {
      std::string_view name;
      for (const auto& [character, letter] : kShort) name = character == c ? letter : name;
      if (!name.empty()) {
        add(fmt::format("\"\\\\{}\"", name));
      } else if (c < 0x20) {
        const auto digit = static_cast<std::uint32_t>(c & 0xF);
        const std::string last = digit < 10 ? fmt::format("{}\"", digit) : fmt::format("\" [{0:x}{0:X}]", digit);
        add(fmt::format("\"\\\\u00{}{}", c >> 4 != 0 ? 1 : 0, last));
      } else {
        raw.push_back({c, c});
      }
    }
    if (range.high > '\\') raw.push_back({std::max<char32_t>(range.low, '\\' + 1), range.high});
  }
  const auto holds = [&ranges](char32_t low, char32_t high) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const CodePointRange& range) { return range.low <= low && high <= range.high; });
  };
  if (holds(0, 0x1F) && holds('"', '"') && holds('\\', '\\')) escaped = kAllEscapes;
  if (raw.empty()) return escaped;
  const std::string text = gbnf_characters(normalised(std::move(raw)));
  return escaped.empty() ? text : text + " | " + escaped;
}

std::string gbnf_count(std::uint32_t least, std::uint32_t most) {
  if (most == GrammarTree::kUnbounded) return least == 0 ? "*" : least == 1 ? "+" : fmt::format("{{{},}}", least);
  if (least == 0 && most == 1) return "?";
  return least == most ? fmt::format("{{{}}}", least) : fmt::format("{{{},{}}}", least, most);
}

std::string gbnf_of(const Regex& regex, const CharactersAsText& characters) {
  return RegexWriter(regex, characters).write(regex.root(), RegexWriter::Around::choice);
}

std::string gbnf_rules(const CharacterAutomaton& automaton, std::string_view prefix,
                       const CharactersAsText& characters) {
  std::string text;
  const std::vector<CharacterAutomaton::State>& states = automaton.states();
  for (std::size_t s = 0; s < states.size(); ++s) {
    std::map<std::uint32_t, std::vector<CodePointRange>> by_target;
    for (const CharacterAutomaton::Edge& edge : states[s].edges)
      by_target[edge.target].push_back({edge.low, edge.high});
    text += fmt::format("{}-{} ::=", prefix, s);
    bool first = true;
    for (const auto& [target, ranges] : by_target) {
      const std::string read = characters(normalised(ranges));
      const bool choice = read.find(" | ") != read.npos;
      text += first ? " " : " | ";
      first = false;
      const bool last = states[target].accepting && states[target].edges.empty();
      text += choice && !last ? in_group(read) : read;
      if (!last) text += fmt::format(" {}-{}", prefix, target);
    }
    if (states[s].accepting) text += first ? " \"\"" : " | \"\"";
    if (!states[s].accepting && first) text += fmt::format(" {}", kNever);
    text += "\n";
  }
  return text;
}

}  // namespace semfuse
