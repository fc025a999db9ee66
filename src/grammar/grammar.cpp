#include "semfuse/grammar.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "grammar/configurations.h"
#include "grammar/expected_text.h"
#include "grammar/gbnf_parser.h"
#include "grammar/grammar_parts.h"
#include "grammar/rule_nfa.h"
#include "grammar/rule_settings.h"
#include "io/file.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

// A few seconds of work, and more for a text that is long rather than ambiguous; what a small machine has of memory.
constexpr std::size_t kMostMatchWork = 30'000'000;
constexpr std::size_t kMostMatchWorkForAByte = 200;
constexpr std::size_t kMostMemory = std::size_t{1} << 30;

void check_work(const Configurations& configurations, std::size_t bytes_read) {
  const std::size_t most_work = kMostMatchWork + kMostMatchWorkForAByte * bytes_read;
  if (configurations.memory() > kMostMemory) {
    throw Error(
        fmt::format("grammar: to follow the first {} bytes of the text takes more than {} MB, as it is nested "
                    "deeply or can be read in many ways; make it shorter",
                    bytes_read, kMostMemory >> 20));
  }
  if (configurations.work() <= most_work) return;
  throw Error(
      fmt::format("grammar: the first {} bytes of the text can be read in too many ways; make the grammar less "
                  "ambiguous, or the text shorter",
                  bytes_read));
}

}  // namespace

Grammar Grammar::parse(std::string_view gbnf, std::string_view origin, const WordsOfClass& words_of_class) {
  const GrammarText source = {.text = gbnf, .origin = origin};
  const GrammarTree tree = spread_settings(parse_gbnf(source, words_of_class), source);
  const RuleNfa nfa = build_rule_nfa(tree, source);
  if (!nfa.alive[nfa.rules[0].start]) {
    source.fail(tree.rules[tree.root].offset,
                "rule \"root\" describes no sentence: every way through it calls a rule again without end, or needs a "
                "word of a class that has none; add a way out");
  }
  std::vector<RuleSetting> settings;
  for (const GrammarTree::Setting& setting : tree.settings) {
    settings.push_back({.knob = setting.knob, .value = setting.value, .where = source.place(setting.offset)});
  }
  return Grammar(std::make_shared<const Parts>(Parts{.origin = std::string(origin),
                                                     .gbnf = std::string(gbnf),
                                                     .automaton = Automaton(nfa),
                                                     .settings = std::move(settings),
                                                     .contexts = tree.contexts}));
}

const std::string& Grammar::gbnf() const {
  return parts_->gbnf;
}

const std::vector<RuleSetting>& Grammar::settings() const {
  return parts_->settings;
}

Grammar Grammar::load(const std::string& path, const WordsOfClass& words_of_class) {
  const std::string text = read_text(path, kMaxGrammarBytes);
  return path.ends_with(".json") ? from_json_schema(text, path) : parse(text, path, words_of_class);
}

Grammar::Match Grammar::match(std::string_view text) const {
  Configurations configurations(parts_->automaton);
  ConfigurationId at = Configurations::kBegin;
  Match match;
  while (match.offset < text.size()) {
    const std::string_view character = text.substr(match.offset, utf8_character_length(text.substr(match.offset)));
    if (character.empty()) break;  // No grammar reads what is not UTF-8.
    ConfigurationId next = at;
    for (const char byte : character) next = configurations.step(next, static_cast<std::uint8_t>(byte));
    if (next == Configurations::kDead) break;
    at = next;
    match.offset += character.size();
    check_work(configurations, match.offset);
  }
  match.accepted = match.offset == text.size() && configurations.accepting(at);
  std::size_t word = match.offset;
  while (word > 0 && is_word_byte(text[word - 1])) --word;
  match.expected = expected_texts(configurations, at, text.substr(word, match.offset - word));
  return match;
}

}  // namespace semfuse
