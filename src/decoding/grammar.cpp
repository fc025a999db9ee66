#include "semfuse/grammar.h"

#include <string>

#include "decoding/configurations.h"
#include "decoding/expected_text.h"
#include "decoding/gbnf_parser.h"
#include "decoding/grammar_parts.h"
#include "decoding/rule_nfa.h"
#include "decoding/rule_plan.h"
#include "io/file.h"

namespace semfuse {

Grammar Grammar::parse(std::string_view gbnf, std::string_view origin, const Lexicon& lexicon) {
  const GrammarText source = {.text = gbnf, .origin = origin};
  const GrammarTree tree = parse_gbnf(source, lexicon);
  const RuleNfa nfa = build_rule_nfa(tree, plan_rules(tree, source));
  if (!nfa.alive[nfa.rules[0].start]) {
    source.fail(tree.rules[tree.root].offset,
                "rule \"root\" describes no sentence: every way through it calls a rule again without end, or needs a "
                "word of a class that the lexicon has none of; add a way out");
  }
  return Grammar(std::make_shared<const Parts>(Parts{.origin = std::string(origin), .automaton = Automaton(nfa)}));
}

Grammar Grammar::load(const std::string& path, const Lexicon& lexicon) {
  return parse(read_text(path, kMaxGrammarBytes), path, lexicon);
}

Grammar::Match Grammar::match(std::string_view text) const {
  Configurations configurations(parts_->automaton);
  ConfigurationId at = Configurations::kBegin;
  Match match;
  while (match.offset < text.size()) {
    const ConfigurationId next = configurations.step(at, static_cast<std::uint8_t>(text[match.offset]));
    if (next == Configurations::kDead) break;
    at = next;
    ++match.offset;
  }
  match.accepted = match.offset == text.size() && configurations.accepting(at);
  std::size_t word = match.offset;
  while (word > 0 && is_word_byte(text[word - 1])) --word;
  match.expected = expected_texts(configurations, at, text.substr(word, match.offset - word));
  return match;
}

}  // namespace semfuse
