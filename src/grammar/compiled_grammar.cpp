#include <fmt/format.h>

#include <utility>

#include "core/random.h"
#include "grammar/compiled_grammar_state.h"
#include "grammar/expected_text.h"
#include "io/quoted_text.h"
#include "semfuse/corpus.h"
#include "semfuse/error.h"
#include "semfuse/grammar.h"

namespace semfuse {
namespace {

// Limits on the search for all configurations between tokens. A grammar with recursion may have no end of them.
constexpr TokenMasks::Limits kRegularLimits = {
    .configurations = 20'000, .work = 40'000'000, .memory = std::size_t{128} << 20};
constexpr TokenMasks::Limits kRecursiveLimits = {
    .configurations = 200, .work = 40'000'000, .memory = std::size_t{1} << 20};

// Limits on what is computed before the first text, not on what may follow.
constexpr std::size_t kPrecomputedNodes = 20'000'000;
constexpr std::size_t kPrecomputedMemory = std::size_t{64} << 20;

}  // namespace

TokenSurfaces TokenSurfaces::of(const Vocabulary& vocabulary) {
  TokenSurfaces surfaces;
  for (std::size_t i = 0; i < vocabulary.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const bool special = id == Vocabulary::kPad || id == Vocabulary::kBos || id == Vocabulary::kEos;
    const std::string word = special ? std::string() : vocabulary.word(id);
    surfaces.first.push_back(word);
    surfaces.later.push_back(special ? word : join_words({"x", word}).substr(1));
  }
  return surfaces;
}

TokenSurfaces TokenSurfaces::of(const Tokenizer& tokenizer) {
  TokenSurfaces surfaces{.first = tokenizer.surfaces(), .later = tokenizer.surfaces()};
  if (!tokenizer.leading_blank()) return surfaces;
  surfaces.leading_blank = Tokenizer::kFirstByte + ' ';
  for (std::string& surface : surfaces.first) {
    if (surface.starts_with(' ')) surface.erase(0, 1);
  }
  return surfaces;
}

std::uint64_t TokenSurfaces::fingerprint() const {
  std::uint64_t hash = mix_bits(first.size()) + static_cast<std::uint64_t>(end);
  for (const std::vector<std::string>* surfaces : {&first, &later}) {
    for (const std::string& surface : *surfaces) {
      hash = mix_bits(hash + surface.size() + 1);
      for (const char c : surface) hash = mix_bits(hash ^ static_cast<std::uint8_t>(c)) + 0x9E3779B97F4A7C15ull;
    }
  }
  return hash;
}

CompiledGrammar::State::State(const Grammar& grammar_in, TokenSurfaces surfaces_in)
    : grammar(grammar_in),
      surfaces(std::move(surfaces_in)),
      fingerprint(surfaces.fingerprint()),
      later(surfaces.later),
      state_masks(later, surfaces.later, automaton().size()),
      nothing(surfaces.later.size()) {
  if (surfaces.first != surfaces.later) first.emplace(surfaces.first);
  choose_promise();
  if (!masks_) masks_ = new_masks();
  allowed_first = masks_->allowed_first();
  if (allowed_first.count() == 0) fail_to_complete();
  if (promise == Promise::bytes || promise == Promise::none) precompute_state_masks();
}

std::shared_ptr<TokenMasks> CompiledGrammar::State::new_masks() const {
  const TokenMasks::Vocabulary vocabulary = {
      .first = first_trie(), .later = later, .num_tokens = surfaces.later.size(), .end = surfaces.end};
  return std::make_shared<TokenMasks>(automaton(), vocabulary, promise, completion.get(), state_masks);
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
  for (std::uint32_t node = 1; node < later[0].end; node = later[node].end) {
    spelled[later[node].byte] = !later.tokens(node).empty();
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
  completion = std::make_unique<const Completion>(automaton(), first_trie(), later);
  promise = completion->finished() ? Promise::relation : Promise::none;
}

void CompiledGrammar::State::precompute_state_masks() {
  for (StateId state = 0; state < automaton().size(); ++state) {
    if (state_masks.work() > kPrecomputedNodes || state_masks.memory() > kPrecomputedMemory) return;
    if (masks_->configurations().memory() > kPrecomputedMemory) return;
    if (!automaton()[state].bytes.empty() || !automaton()[state].calls.empty()) {
      state_masks.of(state, masks_->configurations());
    }
  }
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
    const TokenTrie& trie = i == 0 ? first_trie() : later;
    const std::vector<std::string>& strings = i == 0 ? surfaces.first : surfaces.later;
    bool goes_on = false;
    walk(trie, 0, configurations, place.at, [&](std::uint32_t node, ConfigurationId to) {
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

std::size_t CompiledGrammar::vocab_size() const {
  return state_->surfaces.later.size();
}

std::uint64_t CompiledGrammar::vocabulary_fingerprint() const {
  return state_->fingerprint;
}

CompiledGrammar::CompiledGrammar(const Grammar& grammar, TokenSurfaces surfaces) {
  if (surfaces.first.size() != surfaces.later.size()) {
    throw Error(
        fmt::format("grammar: {} tokens have a surface at the beginning, but {} have one elsewhere; give one each",
                    surfaces.first.size(), surfaces.later.size()));
  }
  if (surfaces.end < 0 || static_cast<std::size_t>(surfaces.end) >= surfaces.later.size()) {
    throw Error(
        fmt::format("grammar: the end token {} is not one of the {} tokens", surfaces.end, surfaces.later.size()));
  }
  const auto end = static_cast<std::size_t>(surfaces.end);
  if (!surfaces.first[end].empty() || !surfaces.later[end].empty()) {
    throw Error("grammar: the end token has a surface, but it is never text; leave its surfaces empty");
  }
  state_ = std::make_shared<const State>(grammar, std::move(surfaces));
}

}  // namespace semfuse
