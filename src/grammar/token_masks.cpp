#include "grammar/token_masks.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/random.h"

namespace semfuse {
namespace {

// In four lanes, since each multiplication waits for the one before.
std::uint64_t hash_of(std::span<const std::uint64_t> words) {
  std::array<std::uint64_t, 4> lanes = {1, 2, 3, 4};
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::uint64_t& lane = lanes[i % 4];
    lane = (lane ^ words[i]) * 0x9E3779B97F4A7C15ull;
    lane ^= lane >> 29;
  }
  return mix_bits(lanes[0] ^ mix_bits(lanes[1] ^ mix_bits(lanes[2] ^ mix_bits(lanes[3]))));
}

}  // namespace

std::shared_ptr<const TokenSet> StateMasks::store(TokenSet set) {
  const std::uint64_t hash = hash_of(set.words());
  const auto [first, last] = stored_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (std::ranges::equal(it->second->words(), set.words())) return it->second;
  }
  return stored_.emplace(hash, std::make_shared<const TokenSet>(std::move(set)))->second;
}

const StateMasks::Mask& StateMasks::of(StateId state, Configurations& configurations) {
  constexpr std::size_t kMostEnds = 20'000;
  const std::lock_guard lock(mutex_);
  if (masks_[state]) return *masks_[state];
  auto mask = std::make_unique<Mask>();
  TokenSet set(num_tokens_);
  const ConfigurationId begin = configurations.find({{state, Configurations::kBottom}});
  insert_readable(trie_, 0, configurations, begin, set, [&](std::uint32_t node, ConfigurationId to) {
    if (!trie_.is_leaf(node) && configurations.accepting(to)) mask->ends.push_back(node);
  });
  if (mask->ends.size() > kMostEnds) {
    mask->too_many_ends = true;
    mask->ends.clear();
  }
  mask->ends.shrink_to_fit();
  if (set.count() > num_tokens_ / 64) {
    mask->many = store(std::move(set));
  } else {
    mask->few = set.ids();
  }
  masks_[state] = std::move(mask);
  return *masks_[state];
}

TokenMasks::TokenMasks(const Automaton& automaton, const Vocabulary& vocabulary, Promise promise,
                       const Completion* completion, StateMasks& state_masks)
    : vocabulary_(vocabulary),
      promise_(promise),
      state_masks_(state_masks),
      configurations_(automaton, promise == Promise::relation ? completion : nullptr) {}

bool TokenMasks::completable(ConfigurationId configuration) {
  if (promise_ == Promise::bytes || promise_ == Promise::none) return true;
  if (configuration >= completable_.size()) completable_.resize(configurations_.size(), -1);
  signed char& known = completable_[configuration];
  if (known < 0) {
    // After exploring, what is not known is not between two tokens of any text.
    const bool yes = promise_ == Promise::relation && configurations_.completable(configuration, Completion::kBoundary);
    known = yes ? 1 : 0;
  }
  return known > 0;
}

TokenSet TokenMasks::allowed_first() {
  TokenSet set(vocabulary_.num_tokens);
  add_readable(set, vocabulary_.first, Configurations::kBegin);
  if (configurations_.accepting(Configurations::kBegin)) set.insert(vocabulary_.end);
  return set;
}

const TokenSet& TokenMasks::allowed(ConfigurationId configuration) {
  if (configuration < masks_.size() && masks_[configuration] != nullptr) return *masks_[configuration];
  TokenSet set(vocabulary_.num_tokens);
  if (promise_ == Promise::explored || promise_ == Promise::relation) {
    add_readable(set, vocabulary_.later, configuration);
  } else {
    add_by_states(set, configuration);
  }
  if (configurations_.accepting(configuration)) set.insert(vocabulary_.end);
  if (configuration >= masks_.size()) {
    mask_memory_ += (configurations_.size() - masks_.size()) * sizeof(masks_[0]);
    masks_.resize(configurations_.size());
  }
  masks_[configuration] = store(std::move(set));
  return *masks_[configuration];
}

void TokenMasks::add_readable(TokenSet& set, const TokenTrie& trie, ConfigurationId configuration) {
  if (promise_ == Promise::bytes || promise_ == Promise::none) {
    insert_readable(trie, 0, configurations_, configuration, set, [](std::uint32_t, ConfigurationId) {});
    return;
  }
  walk(trie, 0, configurations_, configuration, [&](std::uint32_t node, ConfigurationId to) {
    const auto tokens = trie.tokens(node);
    if (tokens.empty() || !completable(to)) return;
    for (const TokenId token : tokens) set.insert(token);
  });
}

// What stays within a rule is known of its state; only what goes on behind the rule depends on what is around it.
void TokenMasks::add_by_states(TokenSet& set, ConfigurationId configuration) {
  const TokenTrie& trie = vocabulary_.later;
  for (const Configurations::Item& item : std::vector(configurations_.closure(configuration).outer)) {
    const StateMasks::Mask& mask = state_masks_.of(item.state, configurations_);
    if (mask.many) set.unite(*mask.many);
    for (const TokenId token : mask.few) set.insert(token);
    if (item.stack == Configurations::kBottom) continue;
    if (mask.too_many_ends) {
      add_readable(set, trie, configuration);
      return;
    }
    if (mask.ends.empty()) continue;
    const auto returns = configurations_.returns(item.stack);
    const ConfigurationId outside = configurations_.find({returns.begin(), returns.end()});
    const ByteGroups next = configurations_.next_groups(outside);
    for (const std::uint32_t end : mask.ends) {
      if ((trie.groups_below(end) & next) == 0) continue;
      insert_readable(trie, end, configurations_, outside, set, [](std::uint32_t, ConfigurationId) {});
    }
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
  std::vector<ConfigurationId> path(trie.max_depth() + 1, configuration);  // By depth.
  walk(trie, 0, configurations_, configuration, [&](std::uint32_t node, ConfigurationId to) {
    path[trie[node].depth] = to;
    if (trie.tokens(node).empty() || !completable(to)) return;
    contexts |= configurations_.contexts(path[trie[node].depth - 1], trie[node].byte);
  });
  return contexts;
}

const TokenSet* TokenMasks::store(TokenSet set) {
  const std::uint64_t hash = hash_of(set.words());
  const auto [first, last] = stored_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (std::ranges::equal(it->second->words(), set.words())) return it->second.get();
  }
  mask_memory_ += set.words().size_bytes() + 100;
  return stored_.emplace(hash, std::make_unique<const TokenSet>(std::move(set)))->second.get();
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
  std::size_t work =
      walk(vocabulary_.first, 0, configurations_, Configurations::kBegin, [&](std::uint32_t node, ConfigurationId to) {
        if (!vocabulary_.first.tokens(node).empty()) add(to);
      });
  for (std::uint32_t i = 0; i < found.size(); ++i) {
    if (found.size() > limits.configurations || work > limits.work || memory() > limits.memory) return false;
    work += walk(vocabulary_.later, 0, configurations_, found[i], [&](std::uint32_t node, ConfigurationId to) {
      if (vocabulary_.later.tokens(node).empty()) return;
      std::vector<std::uint32_t>& sources = before[add(to)];
      if (sources.empty() || sources.back() != i) sources.push_back(i);
    });
  }
  // Backwards from the ends, those that are nearest first.
  std::vector<std::uint32_t> reached;
  completable_.assign(configurations_.size(), 0);
  const auto mark = [&](std::uint32_t i, std::uint32_t distance) {
    if (completable_[found[i]] != 0) return;
    completable_[found[i]] = 1;
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
      if (completable_[configuration] != 0) allowed(configuration);
    }
  }
  return true;
}

}  // namespace semfuse
