// How many tokens a sentence still needs, so that it can be closed in time.
#include <algorithm>
#include <limits>
#include <unordered_set>

#include "grammar/token_masks.h"
#include "grammar/token_walk.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::uint32_t kNotFound = std::numeric_limits<std::uint32_t>::max();

// A search for the end looks at so many nodes of the trie, and then gives up.
constexpr std::size_t kMostSearched = 20'000;

// With a recursive grammar, a vocabulary whose trie is larger than that is only searched for the last few tokens.
constexpr std::size_t kSmallTrie = 2'000;
constexpr std::size_t kLastTokens = 8;

}  // namespace

bool TokenMasks::is_near(std::size_t budget) const {
  if (promise_ == Promise::explored) return budget <= most_distance_;
  return budget <= kLastTokens || vocabulary_.later.size() <= kSmallTrie;
}

TokenSet TokenMasks::allowed_first_within(std::size_t budget) {
  return allowed_within(vocabulary_.first, Configurations::kBegin, budget);
}

TokenSet TokenMasks::allowed_within(ConfigurationId configuration, std::size_t budget) {
  if (const auto from = free_from_.find(configuration); from != free_from_.end() && budget >= from->second) {
    TokenSet set(vocabulary_.num_tokens);
    allowed(configuration).write(set);
    return set;
  }
  return allowed_within(vocabulary_.later, configuration, budget);
}

TokenSet TokenMasks::allowed_within(const TokenTrie& trie, ConfigurationId configuration, std::size_t budget) {
  TokenSet set(vocabulary_.num_tokens);
  if (configurations_.accepting(configuration)) set.insert(vocabulary_.end);
  if (budget == 0) return set;
  std::vector<std::pair<std::uint32_t, ConfigurationId>> tokens;  // Before searching, which makes configurations.
  walk(trie, configurations_, configuration, [&](std::uint32_t node, ConfigurationId to, ConfigurationId) {
    if (!trie.tokens(node).empty() && completable(to)) tokens.emplace_back(node, to);
  });
  bool all = true;
  std::size_t farthest = 0;
  for (const auto& [node, to] : tokens) {
    if (!ends_within(to, budget - 1)) {
      all = false;
      continue;
    }
    farthest = std::max<std::size_t>(farthest, distance_[to]);
    for (const TokenId token : trie.tokens(node)) set.insert(token);
  }
  if (all && &trie == &vocabulary_.later) free_from_[configuration] = farthest + 1;
  return set;
}

bool TokenMasks::ends_within(ConfigurationId configuration, std::size_t most_tokens) {
  if (const auto known = distance_.find(configuration); known != distance_.end()) return known->second <= most_tokens;
  if (promise_ == Promise::explored) return false;
  if (const auto failed = not_within_.find(configuration); failed != not_within_.end()) {
    if (most_tokens <= failed->second) return false;
  }
  const std::uint32_t distance = search_end(configuration, most_tokens);
  mask_memory_ += 50;
  if (distance == kNotFound) {
    not_within_[configuration] = most_tokens;
    return false;
  }
  distance_[configuration] = distance;
  return true;
}

// Level by level. What it finds must not depend on what was asked before, or texts would depend on their order: so it
// uses no distance that is known already.
std::uint32_t TokenMasks::search_end(ConfigurationId configuration, std::size_t most_tokens) {
  std::vector<ConfigurationId> level = {configuration};
  std::unordered_set<ConfigurationId> seen = {configuration};
  std::size_t searched = 0;
  try {
    for (std::uint32_t distance = 0; !level.empty(); ++distance) {
      for (const ConfigurationId at : level) {
        if (configurations_.accepting(at)) return distance;
      }
      if (distance == most_tokens) return kNotFound;
      std::vector<ConfigurationId> next;
      for (const ConfigurationId at : level) {
        if (searched > kMostSearched) return kNotFound;
        searched +=
            walk(vocabulary_.later, configurations_, at, [&](std::uint32_t node, ConfigurationId to, ConfigurationId) {
              if (vocabulary_.later.tokens(node).empty() || !completable(to)) return;
              if (seen.insert(to).second) next.push_back(to);
            });
      }
      level = std::move(next);
    }
  } catch (const Error&) {  // Of a text that may never be: it has too many readings.
  }
  return kNotFound;
}

}  // namespace semfuse
