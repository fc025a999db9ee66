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

const StateMasks::Mask& StateMasks::of(StateId state, Configurations& configurations) {
  const std::lock_guard lock(mutex_);
  if (masks_[state]) return *masks_[state];
  auto mask = std::make_unique<Mask>();
  TokenSet set(strings_.size());
  std::vector<std::uint32_t> ends;  // Nodes at which the rule may have ended.
  const ConfigurationId begin = configurations.find({{state, Configurations::kBottom}});
  work_ += walk(trie_, 0, configurations, begin, [&](std::uint32_t node, ConfigurationId to) {
    for (const TokenId token : trie_.tokens(node)) {
      set.insert(token);
      mask->few.push_back(token);
    }
    if (!trie_.is_leaf(node) && configurations.accepting(to)) ends.push_back(node);
  });
  std::vector<TokenTrie::Entry> rests;
  std::size_t num_looked_at = 0;
  for (const std::uint32_t node : ends) {
    const auto longer = trie_.tokens_below(node).subspan(trie_.tokens(node).size());
    num_looked_at += longer.size();
    mask->too_many_rests = num_looked_at > 8 * strings_.size();
    if (mask->too_many_rests) break;
    for (const TokenId token : longer) {
      if (set.contains(token)) continue;
      rests.push_back({std::string_view(strings_[static_cast<std::size_t>(token)]).substr(trie_[node].depth), token});
    }
  }
  if (!mask->too_many_rests && !rests.empty()) mask->rests = std::make_unique<const TokenTrie>(std::move(rests));
  if (mask->few.size() > strings_.size() / 64) {
    mask->few.clear();
    mask->few.shrink_to_fit();
    mask->many = std::move(set);
  }
  memory_ += mask->many.words().size_bytes() + mask->few.size() * sizeof(TokenId) + sizeof(Mask) +
             (mask->rests ? mask->rests->memory() : 0);
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
  walk(vocabulary_.first, 0, configurations_, Configurations::kBegin, [&](std::uint32_t node, ConfigurationId to) {
    const auto tokens = vocabulary_.first.tokens(node);
    if (tokens.empty() || !completable(to)) return;
    for (const TokenId token : tokens) set.insert(token);
  });
  if (configurations_.accepting(Configurations::kBegin)) set.insert(vocabulary_.end);
  return set;
}

const TokenSet& TokenMasks::allowed(ConfigurationId configuration) {
  if (configuration < masks_.size() && masks_[configuration] != nullptr) return *masks_[configuration];
  TokenSet set(vocabulary_.num_tokens);
  add_readable(set, configuration);
  if (configurations_.accepting(configuration)) set.insert(vocabulary_.end);
  if (configuration >= masks_.size()) {
    mask_memory_ += (configurations_.size() - masks_.size()) * sizeof(masks_[0]);
    masks_.resize(configurations_.size());
  }
  masks_[configuration] = store(std::move(set));
  return *masks_[configuration];
}

void TokenMasks::add_readable(TokenSet& set, ConfigurationId configuration) {
  const TokenTrie& trie = vocabulary_.later;
  const auto add = [&](std::uint32_t node, ConfigurationId to) {
    const auto tokens = trie.tokens(node);
    if (tokens.empty() || !completable(to)) return;
    for (const TokenId token : tokens) set.insert(token);
  };
  if (promise_ == Promise::explored || promise_ == Promise::relation) {
    walk(trie, 0, configurations_, configuration, add);
    return;
  }
  for (const Configurations::Item& item : std::vector(configurations_.closure(configuration).outer)) {
    const StateMasks::Mask& mask = state_masks_.of(item.state, configurations_);
    if (mask.many.size() != 0) set.unite(mask.many);
    for (const TokenId token : mask.few) set.insert(token);
    if (item.stack == Configurations::kBottom) continue;
    if (mask.too_many_rests) {
      walk(trie, 0, configurations_, configuration, add);
      return;
    }
    if (!mask.rests) continue;
    const auto returns = configurations_.returns(item.stack);
    const ConfigurationId outside = configurations_.find({returns.begin(), returns.end()});
    walk(*mask.rests, 0, configurations_, outside, [&](std::uint32_t node, ConfigurationId) {
      for (const TokenId token : mask.rests->tokens(node)) set.insert(token);
    });
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
