#include <fmt/format.h>

#include <utility>

#include "grammar/compiled_grammar_state.h"
#include "grammar/expected_text.h"
#include "grammar/token_walk.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"
#include "semfuse/grammar.h"

namespace semfuse {
namespace {

// Limits on the search for all configurations between tokens. A grammar with recursion may have no end of them.
constexpr TokenMasks::Limits kRegularLimits = {
    .configurations = 20'000, .work = 40'000'000, .memory = std::size_t{128} << 20};
constexpr TokenMasks::Limits kRecursiveLimits = {
    .configurations = 200, .work = 40'000'000, .memory = std::size_t{1} << 20};

}  // namespace

CompiledGrammar::State::State(const Grammar& grammar_in, GrammarVocabulary vocabulary_in)
    : grammar(grammar_in),
      vocabulary(std::move(vocabulary_in)),
      state_masks(later(), vocabulary.parts_->uniform, vocabulary.size(), automaton()),
      nothing(vocabulary.size()) {
  choose_promise();
  if (!masks_) masks_ = new_masks();
  allowed_first = masks_->allowed_first();
  if (allowed_first.count() == 0) fail_to_complete();
}

std::shared_ptr<TokenMasks> CompiledGrammar::State::new_masks() const {
  const TokenMasks::Vocabulary tokens = {
      .first = first_trie(), .later = later(), .num_tokens = vocabulary.size(), .end = vocabulary.end()};
  return std::make_shared<TokenMasks>(automaton(), tokens, promise, completion.get(), state_masks);
}

std::shared_ptr<TokenMasks> CompiledGrammar::State::current_masks() const {
  const std::lock_guard lock(mutex_);
  const auto full = [this] {
    const std::lock_guard masks_lock(masks_->mutex());
    return masks_->is_full();
  };
  if (full()) masks_ = new_masks();
  return masks_;
}

bool CompiledGrammar::State::spells_every_byte() const {
  std::array<bool, 256> spelled{};
  const TokenTrie& trie = later();
  for (std::uint32_t node = trie[0].first_child; node < trie.end_of_children(0); ++node) {
    spelled[trie[node].byte()] = !trie.tokens(node).empty();
  }
  const std::array<bool, 256>& used = automaton().bytes_used();
  for (std::size_t byte = 0; byte < used.size(); ++byte) {
    if (used[byte] && !spelled[byte]) return false;
  }
  return true;
}

void CompiledGrammar::State::choose_promise() {
  if (spells_every_byte()) {
    promise = Promise::bytes;
    return;
  }
  promise = Promise::explored;
  masks_ = new_masks();
  if (masks_->explore(automaton().has_calls() ? kRecursiveLimits : kRegularLimits)) return;
  masks_.reset();
  completion = std::make_unique<const Completion>(automaton(), first_trie(), later());
  promise = completion->finished() ? Promise::relation : Promise::none;
}

// Follows tokens, whether they lead anywhere or not, to the first place where the grammar needs what no token spells.
void CompiledGrammar::State::fail_to_complete() const {
  constexpr std::size_t kMostPlaces = 1000;
  struct Place {
    ConfigurationId at;
    std::string text;
  };
  Configurations configurations(automaton());
  std::vector<Place> places = {{Configurations::kBegin, {}}};
  std::unordered_map<ConfigurationId, bool> seen;
  for (std::size_t i = 0; i < places.size() && i < kMostPlaces; ++i) {
    const Place place = places[i];
    const TokenTrie& trie = i == 0 ? first_trie() : later();
    const std::vector<std::string>& strings = i == 0 ? surfaces().first : surfaces().later;
    bool goes_on = false;
    walk(trie, configurations, place.at, [&](std::uint32_t node, ConfigurationId to, ConfigurationId) {
      if (trie.tokens(node).empty()) return;
      goes_on = true;
      if (places.size() >= kMostPlaces || !seen.emplace(to, true).second) return;
      places.push_back({to, place.text + strings[static_cast<std::size_t>(trie.tokens(node)[0])]});
    });
    if (goes_on) continue;
    throw Error(fmt::format(
        "{}: the vocabulary cannot complete any sentence of the grammar: {} no token continues with {}; add the words "
        "that the grammar needs to the vocabulary, or change the grammar",
        grammar.parts_->origin,
        place.text.empty() ? "at the beginning" : fmt::format("after {}", quoted_text(place.text)),
        fmt::join(expected_texts(configurations, place.at, {}), ", ")));
  }
  throw Error(fmt::format("{}: the vocabulary cannot complete any sentence of the grammar; add the words that it needs",
                          grammar.parts_->origin));
}

const Grammar& CompiledGrammar::grammar() const {
  return state_->grammar;
}

const GrammarVocabulary& CompiledGrammar::vocabulary() const {
  return state_->vocabulary;
}

bool CompiledGrammar::promises_end() const {
  return state_->promise != Promise::none;
}

std::size_t CompiledGrammar::vocab_size() const {
  return state_->vocabulary.size();
}

std::uint64_t CompiledGrammar::vocabulary_fingerprint() const {
  return state_->vocabulary.fingerprint();
}

CompiledGrammar::CompiledGrammar(const Grammar& grammar, GrammarVocabulary vocabulary)
    : state_(std::make_shared<const State>(grammar, std::move(vocabulary))) {}

CompiledGrammar::CompiledGrammar(const Grammar& grammar, TokenSurfaces surfaces)
    : CompiledGrammar(grammar, GrammarVocabulary(std::move(surfaces))) {}

}  // namespace semfuse
