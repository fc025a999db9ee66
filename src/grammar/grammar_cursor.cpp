#include <algorithm>
#include <mutex>
#include <utility>

#include "grammar/compiled_grammar_state.h"
#include "grammar/rule_settings.h"
#include "semfuse/grammar.h"

namespace semfuse {

struct GrammarCursor::Position {
  std::shared_ptr<const CompiledGrammar::State> grammar;
  std::shared_ptr<TokenMasks> masks;
  ConfigurationId at = Configurations::kBegin;
  const TokenSet* allowed = nullptr;  // Once asked for.
  TokenSet within;                    // What allowed_within() gave out last.
  bool begun = false;
  bool ended = false;
  bool can_end = false;

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
    allowed = nullptr;
  }
};

GrammarCursor CompiledGrammar::begin() const {
  auto position = std::make_unique<GrammarCursor::Position>();
  position->grammar = state_;
  position->masks = state_->current_masks();
  position->can_end = state_->allowed_first.contains(state_->surfaces.end);
  return GrammarCursor(std::move(position));
}

GrammarCursor::GrammarCursor(std::unique_ptr<Position> position) : position_(std::move(position)) {}
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
  if (position.allowed == nullptr) {
    const std::lock_guard lock(position.masks->mutex());
    position.allowed = &position.masks->allowed(position.at);
  }
  return *position.allowed;
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
  const TokenSurfaces& surfaces = position.grammar->surfaces;
  if (position.ended || id < 0 || static_cast<std::size_t>(id) >= surfaces.later.size()) return false;
  if (id == surfaces.end) {
    if (!position.can_end) return false;
    position.ended = true;
    return true;
  }
  const std::string& text = (position.begun ? surfaces.later : surfaces.first)[static_cast<std::size_t>(id)];
  if (text.empty() && !position.begun && id == surfaces.leading_blank) {
    position.begun = true;
    return true;
  }
  if (text.empty()) return false;
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
    position.can_end = configurations.accepting(at);
    position.at = at;
    position.begun = true;
    position.allowed = nullptr;
    full = position.masks->is_full();
  }
  if (full) position.renew();
  return true;
}

bool GrammarCursor::can_end() const {
  return position_->can_end && !position_->ended;
}

bool GrammarCursor::ended() const {
  return position_->ended;
}

std::optional<TokenId> GrammarCursor::forced() {
  return allowed().only();
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
  const TokenSurfaces& surfaces = position_->grammar->surfaces;
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
