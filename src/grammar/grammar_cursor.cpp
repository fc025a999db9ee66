#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "grammar/compiled_grammar_state.h"
#include "grammar/rule_settings.h"
#include "grammar/utf8.h"
#include "semfuse/error.h"
#include "semfuse/grammar.h"

namespace semfuse {

struct GrammarCursor::Position {
  std::shared_ptr<const CompiledGrammar::State> grammar;
  std::shared_ptr<TokenMasks> masks;
  ConfigurationId at = Configurations::kBegin;
  const StoredMask* mask = nullptr;  // Once asked for.
  TokenSet expanded;                 // Of that mask, if it is not a set, once that is asked for.
  bool is_expanded = false;
  TokenSet within;  // What allowed_within() gave out last.
  bool begun = false;
  bool ended = false;
  bool can_end = false;
  std::vector<TokenId> tokens;
  // Where the text stood before each of the last tokens, in these masks; earlier ones have to be read again.
  struct Before {
    ConfigurationId at;
    bool can_end;
  };
  std::vector<Before> history;

  void append(TokenId id) {
    tokens.push_back(id);
    history.push_back({at, can_end});
    begun = true;
  }

  void append(TokenId id, ConfigurationId to, bool accepting) {
    append(id);
    at = to;
    can_end = accepting;
    forget_mask();
  }

  void forget_mask() {
    mask = nullptr;
    is_expanded = false;
  }

  // Of a text that has begun and not ended.
  const StoredMask& find_mask() {
    if (mask == nullptr) mask = masks->known_mask(at);
    if (mask == nullptr) {
      const std::lock_guard lock(masks->mutex());
      mask = &masks->allowed(at);
    }
    return *mask;
  }

  // Goes over to other masks if these have grown too large.
  void renew() {
    std::shared_ptr<TokenMasks> next = grammar->current_masks();
    if (next == masks) return;
    Configurations carried(grammar->automaton(), grammar->completion.get());
    {
      const std::lock_guard lock(masks->mutex());
      at = masks->configurations().move_to(carried, at);
    }
    const std::lock_guard lock(next->mutex());
    at = carried.move_to(next->configurations(), at);
    masks = std::move(next);
    forget_mask();
    history.clear();
  }
};

GrammarCursor::GrammarCursor(std::shared_ptr<const CompiledGrammar::State> grammar)
    : position_(std::make_unique<Position>()) {
  position_->can_end = grammar->allowed_first.contains(grammar->vocabulary.end());
  position_->masks = grammar->current_masks();
  position_->grammar = std::move(grammar);
}

GrammarCursor CompiledGrammar::begin() const {
  return GrammarCursor(state_);
}

GrammarCursor::GrammarCursor(GrammarCursor&&) noexcept = default;
GrammarCursor& GrammarCursor::operator=(GrammarCursor&&) noexcept = default;
GrammarCursor::~GrammarCursor() = default;
GrammarCursor::GrammarCursor(const GrammarCursor& other) : position_(std::make_unique<Position>(*other.position_)) {}
GrammarCursor& GrammarCursor::operator=(const GrammarCursor& other) {
  if (this != &other) position_ = std::make_unique<Position>(*other.position_);
  return *this;
}

const TokenSet& GrammarCursor::allowed() {
  Position& position = *position_;
  if (position.ended) return position.grammar->nothing;
  if (!position.begun) return position.grammar->allowed_first;
  const StoredMask& mask = position.find_mask();
  if (mask.set() != nullptr) return *mask.set();
  if (!position.is_expanded) {
    if (position.expanded.size() == 0) position.expanded = TokenSet(position.grammar->vocabulary.size());
    mask.write(position.expanded);
    position.is_expanded = true;
  }
  return position.expanded;
}

const TokenSet& GrammarCursor::allowed_within(std::size_t budget) {
  Position& position = *position_;
  if (position.ended || !position.masks->is_near(budget)) return allowed();
  const std::lock_guard lock(position.masks->mutex());
  position.within = position.begun ? position.masks->allowed_within(position.at, budget)
                                   : position.masks->allowed_first_within(budget);
  return position.within;
}

bool GrammarCursor::advance(TokenId id) {
  Position& position = *position_;
  const TokenSurfaces& surfaces = position.grammar->surfaces();
  if (position.ended || id < 0 || static_cast<std::size_t>(id) >= surfaces.later.size()) return false;
  if (id == surfaces.end) {
    if (!position.can_end) return false;
    position.append(id);
    position.ended = true;
    return true;
  }
  const std::string& text = (position.begun ? surfaces.later : surfaces.first)[static_cast<std::size_t>(id)];
  if (text.empty() && !position.begun && id == surfaces.leading_blank) {
    position.append(id);
    return true;
  }
  if (text.empty()) return false;
  if (const std::optional<TokenMasks::Known> known = position.masks->known_advance(position.at, text)) {
    if (known->at == Configurations::kDead) return false;
    position.append(id, known->at, known->accepting);
    return true;
  }
  bool full = false;
  {
    const std::lock_guard lock(position.masks->mutex());
    Configurations& configurations = position.masks->configurations();
    ConfigurationId at = position.at;
    for (const char c : text) {
      at = configurations.step(at, static_cast<std::uint8_t>(c));
      if (at == Configurations::kDead) return false;
    }
    if (!position.masks->completable(at)) return false;
    position.append(id, at, configurations.accepting(at));
    full = position.masks->is_full();
  }
  if (full) position.renew();
  return true;
}

void GrammarCursor::rollback(std::size_t num_tokens) {
  Position& position = *position_;
  if (num_tokens == 0) return;
  if (num_tokens > position.tokens.size()) {
    throw Error(
        fmt::format("grammar: cannot take back {} tokens of a text that has {}", num_tokens, position.tokens.size()));
  }
  const std::size_t kept = position.tokens.size() - num_tokens;
  if (num_tokens > position.history.size()) {
    GrammarCursor again(position.grammar);
    for (std::size_t i = 0; i < kept; ++i) again.advance(position.tokens[i]);
    *this = std::move(again);
    return;
  }
  const Position::Before before = position.history[position.history.size() - num_tokens];
  position.at = before.at;
  position.can_end = before.can_end;
  position.tokens.resize(kept);
  position.history.resize(position.history.size() - num_tokens);
  position.begun = kept > 0;
  position.ended = false;
  position.forget_mask();
}

std::span<const TokenId> GrammarCursor::tokens() const {
  return position_->tokens;
}

bool GrammarCursor::can_end() const {
  return position_->can_end && !position_->ended;
}

bool GrammarCursor::ended() const {
  return position_->ended;
}

std::optional<TokenId> GrammarCursor::forced() {
  Position& position = *position_;
  if (position.ended || !position.begun) return allowed().only();
  return position.find_mask().only();
}

std::string GrammarCursor::forced_text(std::size_t most_bytes) {
  Position& position = *position_;
  std::string text;
  if (position.ended) return text;
  const std::lock_guard lock(position.masks->mutex());
  Configurations& configurations = position.masks->configurations();
  ConfigurationId at = position.at;
  while (text.size() < most_bytes) {
    const std::optional<std::uint8_t> byte = configurations.only_byte(at);
    if (!byte) break;
    text.push_back(static_cast<char>(*byte));
    at = configurations.step(at, *byte);
  }
  text.resize(whole_characters(text));
  return text;
}

std::vector<TokenId> GrammarCursor::forced_tokens(std::size_t most_bytes) {
  const std::string text = forced_text(most_bytes);
  const GrammarVocabulary::Parts& vocabulary = *position_->grammar->vocabulary.parts_;
  std::vector<TokenId> tokens;
  std::string_view rest = text;
  GrammarCursor ahead = *this;
  while (!rest.empty()) {
    const TokenTrie& trie = ahead.position_->begun ? vocabulary.later : vocabulary.first_trie();
    const std::optional<TokenTrie::Longest> longest = trie.longest_prefix(rest);
    if (!longest || !ahead.advance(longest->token)) break;
    tokens.push_back(longest->token);
    rest.remove_prefix(longest->length);
  }
  const bool text_ends = rest.empty() && ahead.can_end() && ahead.forced() == vocabulary.surfaces.end;
  if (!tokens.empty() && rest.empty() && !text_ends) tokens.pop_back();
  return tokens;
}

void GrammarCursor::fill(std::span<std::int32_t> words) {
  Position& position = *position_;
  const std::size_t num_tokens = position.grammar->vocabulary.size();
  const std::size_t num_words = (num_tokens + 31) / 32;
  if (words.size() != num_words) {
    throw Error(fmt::format("grammar: a mask of {} tokens has {} words of 32 bits, not {}", num_tokens, num_words,
                            words.size()));
  }
  if (position.ended || !position.begun) {
    write_words(allowed(), words);
  } else {
    position.find_mask().write(words);
  }
}

std::vector<std::size_t> GrammarCursor::settings() {
  Position& position = *position_;
  const Grammar::Parts& parts = *position.grammar->grammar.parts_;
  if (position.ended || !parts.automaton.has_settings()) return {};
  const std::lock_guard lock(position.masks->mutex());
  const ContextSet contexts = position.begun ? position.masks->contexts(position.at) : position.masks->contexts_first();
  return settings_of(contexts, parts.contexts);
}

std::vector<std::string> GrammarCursor::expected(std::size_t limit) {
  const TokenSet& set = allowed();
  const TokenSurfaces& surfaces = position_->grammar->surfaces();
  std::vector<std::string> words;
  if (set.size() > 0 && set.contains(surfaces.end)) words.emplace_back("end of text");
  for (const TokenId id : set.ids()) {
    if (id == surfaces.end) continue;
    const std::string& text = (position_->begun ? surfaces.later : surfaces.first)[static_cast<std::size_t>(id)];
    std::string word = text.starts_with(' ') && text.size() > 1 ? text.substr(1) : text;
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(std::move(word));
    if (words.size() > limit) break;
  }
  if (words.size() > limit) {
    words.resize(limit);
    words.emplace_back("...");
  }
  return words;
}

}  // namespace semfuse
