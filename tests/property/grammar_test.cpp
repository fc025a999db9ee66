#include "semfuse/grammar.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "grammar/configurations.h"
#include "grammar/grammar_parts.h"
#include "semfuse/class_words.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"
#include "support/plain_reader.h"
#include "support/random_grammar.h"

namespace semfuse {
namespace {

// Nothing if the grammar describes no sentence.
std::optional<Grammar> parse(const ReferenceGrammar& grammar) {
  try {
    return Grammar::parse(grammar.gbnf(), "g", words_of(synthetic_lexicon()));
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("describes no sentence"), std::string::npos) << error.what();
    return std::nullopt;
  }
}

// Every text over a, b, c up to that length, shortest first.
std::vector<std::string> short_texts(std::size_t longest) {
  std::vector<std::string> texts = {""};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() == longest) break;
    for (char c = 'a'; c <= 'c'; ++c) texts.push_back(texts[i] + c);
  }
  return texts;
}

TEST(GrammarProperty, AgreesWithAPlainRecogniser) {
  const std::vector<std::string> texts = short_texts(4);
  std::size_t num_grammars = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const ReferenceGrammar reference = random_grammar(seed);
    SCOPED_TRACE(testing::Message() << "case " << seed << ":\n" << reference.gbnf());
    const std::optional<Grammar> grammar = parse(reference);
    RandomStream random(seed, RandomPurpose::held_out, 78);
    num_grammars += grammar ? 1 : 0;
    for (int i = 0; i < 12; ++i) {
      std::string text = texts[random.next_below(texts.size())];
      if (i % 3 == 0) text += texts[random.next_below(texts.size())];
      const bool accepted = reference.accepts(text);
      if (!grammar) {
        ASSERT_FALSE(accepted) << text;
        continue;
      }
      const Grammar::Match match = grammar->match(text);
      ASSERT_EQ(match.accepted, accepted) << "\"" << text << "\"";
      ASSERT_LE(match.offset, text.size());
      ASSERT_FALSE(match.expected.empty());
      // What was read can be completed, and says how.
      if (match.offset < text.size()) {
        ASSERT_EQ(grammar->match(text.substr(0, match.offset)).offset, match.offset);
      }
    }
  }
  EXPECT_GT(num_grammars, 700u);
}

// A cursor whose table has grown too large goes over to another in the middle of a text.
TEST(GrammarProperty, ConfigurationsMoveToAnotherTable) {
  const std::vector<std::string> texts = short_texts(4);
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const std::optional<Grammar> grammar = parse(random_grammar(seed));
    if (!grammar) continue;
    RandomStream random(seed, RandomPurpose::held_out, 81);
    const std::string text = texts[random.next_below(texts.size())] + texts[random.next_below(texts.size())];
    auto table = std::make_unique<Configurations>(GrammarAccess::automaton(*grammar));
    ConfigurationId at = Configurations::kBegin;
    for (const char c : text) {
      at = table->step(at, static_cast<std::uint8_t>(c));
      auto other = std::make_unique<Configurations>(GrammarAccess::automaton(*grammar));
      at = table->move_to(*other, at);
      table = std::move(other);
    }
    ASSERT_EQ(table->accepting(at), grammar->match(text).accepted) << "case " << seed << ": " << text;
  }
}

TokenSurfaces random_surfaces(RandomStream& random, bool bytes) {
  TokenSurfaces surfaces;
  surfaces.first = {"", "", ""};
  surfaces.later = {"", "", ""};
  const auto add = [&](const std::string& first, const std::string& later) {
    surfaces.first.push_back(first);
    surfaces.later.push_back(later);
  };
  if (bytes) {
    for (const char* letter : {"a", "b", "c"}) add(letter, letter);
  }
  const std::vector<std::string> texts = short_texts(3);
  const std::uint64_t num_tokens = 1 + random.next_below(6);
  const bool same = random.next_below(2) == 0;
  for (std::uint64_t i = 0; i < num_tokens; ++i) {
    const std::string first = texts[random.next_below(texts.size())];
    add(first, same ? first : texts[random.next_below(texts.size())]);
  }
  return surfaces;
}

// Whether tokens lead from the text to a sentence, trying all continuations of up to so many letters: every answer it
// gives is right when it is yes.
class Completer {
 public:
  Completer(const ReferenceGrammar& grammar, const TokenSurfaces& surfaces) : grammar_(grammar), surfaces_(surfaces) {}

  bool accepts(const std::string& text) {
    const auto found = known_.find(text);
    if (found != known_.end()) return found->second;
    return known_[text] = grammar_.accepts(text);
  }

  bool completes(const std::string& text, std::size_t longest) {
    std::set<std::string> seen = {text};
    std::vector<std::string> open = {text};
    while (!open.empty()) {
      const std::string here = open.back();
      open.pop_back();
      if (accepts(here)) return true;
      for (const std::string& token : surfaces_.later) {
        if (token.empty() || here.size() + token.size() > longest) continue;
        if (seen.insert(here + token).second) open.push_back(here + token);
      }
    }
    return false;
  }

 private:
  const ReferenceGrammar& grammar_;
  const TokenSurfaces& surfaces_;
  std::map<std::string, bool> known_;
};

// allowed() against trying every token: what is said to be allowed leads to an end (by following it), and what brute
// force completes within a few letters is allowed.
TEST(GrammarProperty, AllowedIsWhatCanBeCompleted) {
  std::size_t num_compiled = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const ReferenceGrammar reference = random_grammar(seed);
    const std::optional<Grammar> grammar = parse(reference);
    if (!grammar) continue;
    RandomStream random(seed, RandomPurpose::held_out, 79);
    const TokenSurfaces surfaces = random_surfaces(random, seed % 3 == 0);
    Completer completer(reference, surfaces);
    SCOPED_TRACE(testing::Message() << "case " << seed << ":\n" << reference.gbnf());
    std::optional<CompiledGrammar> compiled;
    try {
      compiled.emplace(*grammar, surfaces);
    } catch (const Error&) {
      ASSERT_FALSE(completer.accepts(""));
      for (const std::string& first : surfaces.first)
        ASSERT_TRUE(first.empty() || !completer.completes(first, 5)) << first;
      continue;
    }
    ++num_compiled;
    GrammarCursor cursor = compiled->begin();
    std::string text;
    for (int step = 0; step < 4; ++step) {
      SCOPED_TRACE(testing::Message() << "after \"" << text << "\"");
      const TokenSet allowed = cursor.allowed();
      ASSERT_GT(allowed.count(), 0u);
      ASSERT_EQ(cursor.can_end(), completer.accepts(text));
      ASSERT_EQ(allowed.contains(surfaces.end), cursor.can_end());
      for (std::size_t i = 3; i < surfaces.later.size(); ++i) {
        const auto id = static_cast<TokenId>(i);
        const std::string& token = (step == 0 ? surfaces.first : surfaces.later)[i];
        GrammarCursor copy = cursor;
        ASSERT_EQ(copy.advance(id), allowed.contains(id)) << token;
        ASSERT_FALSE(token.empty() && allowed.contains(id));
        const bool completes = !token.empty() && completer.completes(text + token, text.size() + 4);
        ASSERT_TRUE(!completes || allowed.contains(id)) << token;
      }
      const std::vector<TokenId> ids = allowed.ids();
      const TokenId chosen = ids[random.next_below(ids.size())];
      text += (step == 0 ? surfaces.first : surfaces.later)[static_cast<std::size_t>(chosen)];
      ASSERT_TRUE(cursor.advance(chosen));
      if (cursor.ended()) break;
    }
  }
  EXPECT_GT(num_compiled, 100u);
}

// Bodies that are long enough for their repetitions to be counted, alone or nested.
ReferenceExpression random_counted(RandomStream& random, std::size_t num_rules, int depth) {
  const auto word = [&] {
    ReferenceExpression literal;
    const std::uint64_t length = 25 + random.next_below(50);
    for (std::uint64_t i = 0; i < length; ++i) literal.bytes.push_back("aabc"[random.next_below(4)]);
    return literal;
  };
  ReferenceExpression body{.kind = ReferenceExpression::choice, .bytes = {}, .parts = {word(), word()}};
  if (random.next_below(2) == 0) body.parts.push_back(random_expression(random, num_rules, 1));
  if (depth > 0 && random.next_below(3) == 0) {
    const ReferenceExpression end{.kind = ReferenceExpression::literal, .bytes = "c", .parts = {}};
    body = {.kind = ReferenceExpression::sequence,
            .bytes = {},
            .parts = {random_counted(random, num_rules, depth - 1), random.next_below(2) == 0 ? word() : end}};
  }
  ReferenceExpression repeat{.kind = ReferenceExpression::repeat, .bytes = {}, .parts = {body}};
  repeat.least = random.next_below(4);
  repeat.most = random.next_below(5) == 0 ? 0 : std::max<std::size_t>(2, repeat.least + random.next_below(4));
  return repeat;
}

ReferenceGrammar random_counted_grammar(std::uint64_t seed) {
  RandomStream random(seed, RandomPurpose::held_out, 83);
  ReferenceGrammar grammar;
  const std::size_t num_rules = 1 + random.next_below(3);
  for (std::size_t r = 0; r < num_rules; ++r) {
    grammar.rules.push_back({.kind = ReferenceExpression::sequence, .bytes = {}, .parts = {}});
    for (int i = 0; i < 2; ++i) grammar.rules.back().parts.push_back(random_expression(random, num_rules, 1));
    const std::size_t at = random.next_below(3);
    grammar.rules.back().parts.insert(grammar.rules.back().parts.begin() + static_cast<std::ptrdiff_t>(at),
                                      random_counted(random, num_rules, 1));
  }
  return grammar;
}

void add_letters(const ReferenceExpression& e, std::string& letters) {
  if (e.kind == ReferenceExpression::literal) letters += e.bytes;
  for (const ReferenceExpression& part : e.parts) add_letters(part, letters);
}

// Pieces of the grammar's own words, and the letters.
TokenSurfaces surfaces_of_pieces(const ReferenceGrammar& grammar, RandomStream& random) {
  TokenSurfaces surfaces;
  surfaces.later = {"", "", "", "a", "b", "c"};
  std::string letters;
  for (const ReferenceExpression& rule : grammar.rules) add_letters(rule, letters);
  for (int i = 0; i < 40; ++i) {
    const std::size_t begin = random.next_below(letters.size() + 1);
    surfaces.later.push_back(letters.substr(begin, random.next_below(i < 20 ? 6 : 90)));
  }
  surfaces.first = surfaces.later;
  return surfaces;
}

// Every bit of masks along random texts, against reading each token in a plain way.
std::size_t compare_masks(const ReferenceGrammar& reference, std::uint64_t seed, std::size_t num_steps) {
  PlainReader reader(reference);
  PlainReader::Ways ways = reader.begin();
  if (!reader.is_plain()) return 0;
  const std::optional<Grammar> grammar = parse(reference);
  if (!grammar) return 0;
  RandomStream random(seed, RandomPurpose::held_out, 84);
  const TokenSurfaces surfaces = surfaces_of_pieces(reference, random);
  const CompiledGrammar compiled(*grammar, surfaces);
  GrammarCursor cursor = compiled.begin();
  for (std::size_t step = 0; step < num_steps; ++step) {
    std::vector<TokenId> expected;
    std::vector<TokenId> longest;
    for (std::size_t id = 0; id < surfaces.later.size(); ++id) {
      const std::string& token = surfaces.later[id];
      const auto token_id = static_cast<TokenId>(id);
      const bool good = token_id == surfaces.end ? PlainReader::is_sentence(ways)
                                                 : !token.empty() && !reader.read(ways, token).empty();
      if (!good) continue;
      expected.push_back(token_id);
      if (token.size() > 3) longest.push_back(token_id);
    }
    if (!reader.is_plain() || ways.size() > 500) return step;
    EXPECT_EQ(cursor.allowed().ids(), expected) << "after " << step << " tokens";
    if (testing::Test::HasFailure()) return step;
    const std::vector<TokenId>& choice = longest.empty() || random.next_below(4) == 0 ? expected : longest;
    const TokenId chosen = choice[random.next_below(choice.size())];
    EXPECT_TRUE(cursor.advance(chosen));
    if (cursor.ended()) return step + 1;
    ways = reader.read(ways, surfaces.later[static_cast<std::size_t>(chosen)]);
  }
  return num_steps;
}

TEST(GrammarProperty, MasksAreThoseOfAPlainRecogniser) {
  std::size_t num_masks = 0;
  std::size_t num_counted = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const ReferenceGrammar plain = random_grammar(seed + 70000);
    const ReferenceGrammar counted = random_counted_grammar(seed);
    SCOPED_TRACE(testing::Message() << "case " << seed << ":\n" << plain.gbnf() << counted.gbnf());
    num_masks += compare_masks(plain, seed, 6);
    num_counted += compare_masks(counted, seed, 25);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(num_masks, 500u);
  EXPECT_GT(num_counted, 1000u);
}

// Random walks through allowed() never meet a dead end, and what ends is a sentence.
TEST(GrammarProperty, FollowingAllowedEndsInASentence) {
  std::size_t num_ended = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const ReferenceGrammar reference = random_grammar(seed + 50000);
    const std::optional<Grammar> grammar = parse(reference);
    if (!grammar) continue;
    RandomStream random(seed, RandomPurpose::held_out, 80);
    const TokenSurfaces surfaces = random_surfaces(random, seed % 2 == 0);
    SCOPED_TRACE(testing::Message() << "case " << seed << ":\n" << reference.gbnf());
    std::optional<CompiledGrammar> compiled;
    try {
      compiled.emplace(*grammar, surfaces);
    } catch (const Error&) {
      continue;
    }
    for (int repeat = 0; repeat < 3; ++repeat) {
      GrammarCursor cursor = compiled->begin();
      std::string text;
      for (int step = 0; step < 12 && !cursor.ended(); ++step) {
        const std::vector<TokenId> ids = cursor.allowed().ids();
        ASSERT_FALSE(ids.empty()) << text;
        ASSERT_EQ(cursor.forced().has_value(), ids.size() == 1);
        ASSERT_FALSE(cursor.expected().empty());
        const bool end = cursor.can_end() && random.next_below(2) == 0;
        const TokenId chosen = end ? surfaces.end : ids[random.next_below(ids.size())];
        text += (step == 0 ? surfaces.first : surfaces.later)[static_cast<std::size_t>(chosen)];
        ASSERT_TRUE(cursor.advance(chosen));
      }
      if (!cursor.ended()) continue;
      ++num_ended;
      ASSERT_TRUE(reference.accepts(text)) << text;
    }
  }
  EXPECT_GT(num_ended, 300u);
}

// Where settings hold, against a grammar in which they are letters of the text.
TEST(GrammarProperty, SettingsHoldWhereTheSpelledOutGrammarHasThem) {
  constexpr std::size_t kSettings = 3;
  TokenSurfaces surfaces;
  surfaces.later = {"", "", "", "a", "b", "c", "ab", "bca"};
  surfaces.first = surfaces.later;
  std::size_t num_held = 0;
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    RandomStream random(seed, RandomPurpose::held_out, 82);
    ReferenceGrammar reference = random_grammar(seed + 90000);
    for (ReferenceExpression& rule : reference.rules) add_settings(rule, random, kSettings);
    const std::optional<Grammar> grammar = parse(reference);
    if (!grammar) continue;
    SCOPED_TRACE(testing::Message() << "case " << seed << ":\n" << reference.gbnf());
    const Grammar spelled = parse(reference.spelled_out(kSettings)).value();
    Configurations table(GrammarAccess::automaton(spelled));
    // After one more letter, from each of the places where the text may stand: by what is set there.
    const auto read = [&](const std::set<ConfigurationId>& places, char letter) {
      std::map<std::size_t, std::set<ConfigurationId>> result;
      for (const ConfigurationId place : places) {
        for (std::size_t s = 0; s <= kSettings; ++s) {
          const ConfigurationId set = table.step(place, static_cast<std::uint8_t>('0' + s));
          const ConfigurationId to = table.step(set, static_cast<std::uint8_t>(letter));
          if (to != Configurations::kDead) result[s].insert(to);
        }
      }
      return result;
    };
    const auto read_token = [&](std::set<ConfigurationId> places, const std::string& token) {
      std::map<std::size_t, std::set<ConfigurationId>> last;
      for (const char letter : token) {
        last = read(places, letter);
        places.clear();
        for (const auto& [set, to] : last) places.insert(to.begin(), to.end());
      }
      return std::pair(last, places);
    };
    const CompiledGrammar compiled(*grammar, surfaces);
    GrammarCursor cursor = compiled.begin();
    std::set<ConfigurationId> places = {Configurations::kBegin};
    for (int step = 0; step < 5 && !cursor.ended(); ++step) {
      std::set<std::size_t> set;
      for (std::size_t id = 3; id < surfaces.later.size(); ++id) {
        for (const auto& [setting, to] : read_token(places, surfaces.later[id]).first) set.insert(setting);
      }
      set.erase(0);
      std::set<std::size_t> found;
      for (const std::size_t setting : cursor.settings()) found.insert(std::stoul(grammar->settings()[setting].value));
      ASSERT_EQ(found, set) << "after " << step << " tokens";
      num_held += found.size();
      const std::vector<TokenId> ids = cursor.allowed().ids();
      const TokenId chosen = ids[random.next_below(ids.size())];
      places = read_token(places, surfaces.later[static_cast<std::size_t>(chosen)]).second;
      ASSERT_TRUE(cursor.advance(chosen));
    }
  }
  EXPECT_GT(num_held, 200u);
}

}  // namespace
}  // namespace semfuse
