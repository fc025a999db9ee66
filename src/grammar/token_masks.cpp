#include "grammar/token_masks.h"

#include <algorithm>
#include <utility>

#include "grammar/token_walk.h"

namespace semfuse {

TokenMasks::TokenMasks(const Automaton& automaton, const Vocabulary& vocabulary, Promise promise,
                       const Completion* completion, StateMasks& state_masks)
    : vocabulary_(vocabulary),
      promise_(promise),
      state_masks_(state_masks),
      draft_(vocabulary.num_tokens),
      configurations_(automaton, promise == Promise::relation ? completion : nullptr) {}

TokenMasks::Entry& TokenMasks::entry(ConfigurationId configuration) {
  if (configuration >= entries_.size()) {
    mask_memory_ += (configurations_.size() - entries_.size()) * sizeof(Entry);
    entries_.grow(configurations_.size());
  }
  return entries_[configuration];
}

bool TokenMasks::completable(ConfigurationId configuration) {
  if (!needs_completion()) return true;
  std::atomic<signed char>& known = entry(configuration).completable;
  if (known.load(std::memory_order_relaxed) < 0) {
    // After exploring, what is not known is not between two tokens of any text.
    const bool yes = promise_ == Promise::relation && configurations_.completable(configuration, Completion::kBoundary);
    known.store(yes ? 1 : 0, std::memory_order_relaxed);
  }
  return known.load(std::memory_order_relaxed) > 0;
}

std::optional<TokenMasks::Known> TokenMasks::known_advance(ConfigurationId from, std::string_view text) const {
  ConfigurationId at = from;
  for (const char c : text) {
    at = configurations_.known_step(at, static_cast<std::uint8_t>(c));
    if (at == Configurations::kUnknown) return std::nullopt;
    if (at == Configurations::kDead) return Known{at, false};
  }
  const std::optional<bool> accepting = configurations_.known_accepting(at);
  if (!accepting) return std::nullopt;
  if (needs_completion()) {
    const Entry* entry = entries_.find(at);
    const signed char completable = entry == nullptr ? -1 : entry->completable.load(std::memory_order_relaxed);
    if (completable < 0) return std::nullopt;
    if (completable == 0) return Known{Configurations::kDead, false};
  }
  return Known{at, *accepting};
}

TokenSet TokenMasks::allowed_first() {
  draft_.clear();
  add_readable(vocabulary_.first, Configurations::kBegin);
  if (configurations_.accepting(Configurations::kBegin)) draft_.insert(vocabulary_.end);
  return draft_.set();
}

const StoredMask& TokenMasks::allowed(ConfigurationId configuration) {
  if (const StoredMask* known = known_mask(configuration)) return *known;
  const StoredMask* mask = nullptr;
  // Where the end can be reached from everywhere, a mask depends on nothing that is farther away than a token.
  const ConfigurationId same =
      needs_completion() ? configuration : configurations_.representative(configuration, vocabulary_.later.max_depth());
  if (same != configuration) {
    mask = &allowed(same);
  } else {
    draft_.clear();
    needs_completion() ? add_readable(vocabulary_.later, configuration) : add_by_states(configuration);
    if (configurations_.accepting(configuration)) draft_.insert(vocabulary_.end);
    mask = &stored_.store(draft_);
  }
  entry(configuration).mask.store(mask, std::memory_order_release);
  return *mask;
}

void TokenMasks::add_readable(const TokenTrie& trie, ConfigurationId configuration) {
  if (!needs_completion()) {
    ReadableTokens(trie, configurations_, walk_memory_).insert(configuration, draft_);
    return;
  }
  walk(trie, configurations_, configuration, [&](std::uint32_t node, ConfigurationId to, ConfigurationId) {
    const auto tokens = trie.tokens(node);
    if (!tokens.empty() && completable(to)) draft_.insert(tokens);
  });
}

// What stays within a rule is known of its state; only what goes on behind the rule depends on what is around it.
void TokenMasks::add_by_states(ConfigurationId configuration) {
  const TokenTrie& trie = vocabulary_.later;
  for (const Configurations::Item& item : configurations_.closure(configuration).outer) {
    const StateMasks::Mask& mask = state_masks_.of(item.state, configurations_);
    for (const TokenSet* tokens : mask.sets) {
      if (tokens != nullptr) draft_.unite(*tokens);
    }
    if (mask.own) draft_.unite(*mask.own);
    draft_.insert(mask.few);
    if (item.stack == Configurations::kBottom) continue;
    if (mask.too_many_ends) {
      add_readable(trie, configuration);
      return;
    }
    if (mask.ends.empty()) continue;
    const ConfigurationId outside = configurations_.find(configurations_.returns(item.stack));
    const ByteGroups next = configurations_.next_groups(outside);
    ends_.clear();
    for (const std::uint32_t end : mask.ends) {
      if ((trie[end].groups_below & next) != 0) ends_.push_back(end);
    }
    ReadableTokens(trie, configurations_, walk_memory_).insert_below(ends_, outside, draft_);
  }
}

ContextSet TokenMasks::contexts_first() {
  if (contexts_first_ == 0) contexts_first_ = find_contexts(vocabulary_.first, Configurations::kBegin);
  return contexts_first_;
}

ContextSet TokenMasks::contexts(ConfigurationId configuration) {
  if (configuration >= contexts_.size()) {
    mask_memory_ += (configurations_.size() - contexts_.size()) * sizeof(contexts_[0]);
    contexts_.resize(configurations_.size());
  }
  ContextSet found = contexts_[configuration];
  if (found == 0) found = contexts_[configuration] = find_contexts(vocabulary_.later, configuration);
  return found;
}

ContextSet TokenMasks::find_contexts(const TokenTrie& trie, ConfigurationId configuration) {
  ContextSet contexts = kNothingSet;
  walk(trie, configurations_, configuration, [&](std::uint32_t node, ConfigurationId to, ConfigurationId from) {
    if (trie.tokens(node).empty() || !completable(to)) return;
    contexts |= configurations_.contexts(from, trie[node].byte());
  });
  return contexts;
}

bool TokenMasks::explore(const Limits& limits) {
  constexpr std::uint32_t kUnknown = 0xFFFFFFFF;
  std::vector<ConfigurationId> found;
  std::vector<std::uint32_t> index_of;  // In `found`, of each configuration.
  std::vector<std::vector<std::uint32_t>> before;
  const auto add = [&](ConfigurationId configuration) {
    if (configuration >= index_of.size()) index_of.resize(configurations_.size(), kUnknown);
    if (index_of[configuration] == kUnknown) {
      index_of[configuration] = static_cast<std::uint32_t>(found.size());
      found.push_back(configuration);
      before.emplace_back();
    }
    return index_of[configuration];
  };
  std::size_t work = walk(vocabulary_.first, configurations_, Configurations::kBegin,
                          [&](std::uint32_t node, ConfigurationId to, ConfigurationId) {
                            if (!vocabulary_.first.tokens(node).empty()) add(to);
                          });
  for (std::uint32_t i = 0; i < found.size(); ++i) {
    if (found.size() > limits.configurations || work > limits.work || memory() > limits.memory) return false;
    work += walk(vocabulary_.later, configurations_, found[i],
                 [&](std::uint32_t node, ConfigurationId to, ConfigurationId) {
                   if (vocabulary_.later.tokens(node).empty()) return;
                   std::vector<std::uint32_t>& sources = before[add(to)];
                   if (sources.empty() || sources.back() != i) sources.push_back(i);
                 });
  }
  // Backwards from the ends, those that are nearest first.
  std::vector<std::uint32_t> reached;
  const auto is_marked = [&](ConfigurationId configuration) {
    return entry(configuration).completable.load(std::memory_order_relaxed) > 0;
  };
  const auto mark = [&](std::uint32_t i, std::uint32_t distance) {
    if (is_marked(found[i])) return;
    entry(found[i]).completable.store(1, std::memory_order_relaxed);
    distance_[found[i]] = distance;
    most_distance_ = distance;
    reached.push_back(i);
  };
  for (std::uint32_t i = 0; i < found.size(); ++i) {
    if (configurations_.accepting(found[i])) mark(i, 0);
  }
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const std::uint32_t i = reached[next];
    for (const std::uint32_t source : before[i]) mark(source, distance_[found[i]] + 1);
  }
  constexpr std::size_t kEagerMemory = std::size_t{64} << 20;
  if (found.size() * (vocabulary_.num_tokens / 8 + 100) <= kEagerMemory) {
    for (const ConfigurationId configuration : found) {
      if (is_marked(configuration)) allowed(configuration);
    }
  }
  return true;
}

}  // namespace semfuse
