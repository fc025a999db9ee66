// Walks over the tokens that a grammar can read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grammar/configurations.h"
#include "grammar/token_trie.h"
#include "semfuse/grammar.h"

namespace semfuse {

// Calls visit(node, configuration, that of its parent) for every node that the grammar can read from `begin` on, in
// depth-first order. Returns how many nodes it looked at.
template <typename Visit>
std::size_t walk(const TokenTrie& trie, Configurations& configurations, ConfigurationId begin, Visit visit) {
  struct Level {
    std::uint32_t next;
    std::uint32_t end;
    ConfigurationId at;
  };
  std::vector<Level> levels = {{trie[0].first_child, trie.end_of_children(0), begin}};
  levels.reserve(trie.max_depth() + 1);
  std::size_t work = 0;
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.end) {
      levels.pop_back();
      continue;
    }
    ++work;
    const std::uint32_t node = level.next++;
    const ConfigurationId to = configurations.step(level.at, trie[node].byte);
    if (to == Configurations::kDead) continue;
    visit(node, to, level.at);
    if (!trie.is_leaf(node)) levels.push_back({trie[node].first_child, trie.end_of_children(node), to});
  }
  return work;
}

// Whose strings the grammar can read: calls insert(tokens) for those below the nodes that a walk is begun at. Subtrees
// of which every string is read are not walked through, nor those that skip() says. Calls visit(node, configuration)
// for the nodes that are and have others below them. Level by level, so that what is below a node has come from memory
// when it is looked at. For one walk.
class ReadableTokens {
 public:
  struct NoSkip {
    bool operator()(const TokenTrie::Node&, std::uint8_t) const { return false; }
  };

  ReadableTokens(const TokenTrie& trie, Configurations& configurations) : trie_(trie), configurations_(configurations) {
    families_.reserve(64);
  }

  // From the root.
  template <typename Skip, typename Insert, typename Visit>
  void find(ConfigurationId begin, Skip skip, Insert insert, Visit visit) {
    const Configurations::Row row = configurations_.row(begin);
    for (std::size_t i = 0; i < 256; ++i) {  // Most states read few bytes.
      const auto byte = static_cast<std::uint8_t>(i);
      if (configurations_.known_step(row, byte) == Configurations::kDead) continue;
      if (const std::uint32_t child = trie_.first_level(byte)) look_at(child, begin, row, byte, skip, insert, visit);
    }
    finish(skip, insert, visit);
  }

  // Into a set: from the root, or below these nodes.
  void insert(ConfigurationId begin, TokenSet& set) { find(begin, NoSkip{}, Into{set}, kNoVisit); }
  void insert_below(std::span<const std::uint32_t> nodes, ConfigurationId begin, TokenSet& set) {
    for (const std::uint32_t node : nodes)
      add({trie_[node].first_child, trie_.end_of_children(node), kNoTokens, begin, 0});
    finish(NoSkip{}, Into{set}, kNoVisit);
  }

 private:
  static constexpr std::uint32_t kNoTokens = 0xFFFFFFFF;
  static constexpr auto kNoVisit = [](std::uint32_t, ConfigurationId) {};
  struct Into {
    TokenSet& set;
    void operator()(std::span<const TokenId> tokens) const {
      for (const TokenId token : tokens) set.insert(token);
    }
  };

  // The children of a node, and where its own tokens begin: they end where those of the first child begin.
  struct Family {
    std::uint32_t first;
    std::uint32_t end;
    std::uint32_t first_token;
    ConfigurationId at;
    std::uint8_t first_byte;  // Of the strings.
  };

  void add(const Family& family) {
    trie_.fetch(family.first);
    families_.push_back(family);
  }

  template <typename Skip, typename Insert, typename Visit>
  void finish(Skip skip, Insert insert, Visit visit) {
    for (std::size_t i = 0; i < families_.size(); ++i) {
      const Family family = families_[i];
      const std::uint32_t end_token = trie_[family.first].first_token;
      if (family.first_token < end_token) insert(trie_.tokens_between(family.first_token, end_token));
      const Configurations::Row row = configurations_.row(family.at);
      for (std::uint32_t node = family.first; node < family.end; ++node)
        look_at(node, family.at, row, family.first_byte, skip, insert, visit);
    }
    families_.clear();
  }

  template <typename Skip, typename Insert, typename Visit>
  void look_at(std::uint32_t index, ConfigurationId at, Configurations::Row row, std::uint8_t first_byte, Skip& skip,
               Insert& insert, Visit& visit) {
    const TokenTrie::Node& node = trie_[index];
    ConfigurationId to = configurations_.known_step(row, node.byte);
    if (to == Configurations::kDead || skip(node, first_byte)) return;
    if (node.num_children == 0) {  // Whatever it leads to.
      insert(trie_.tokens_below(index));
      return;
    }
    if (to == Configurations::kUnknown) to = configurations_.step(at, node.byte);
    const StateRun run = configurations_.run(to);
    const bool fits =
        run.length == StateRun::kEndless || (node.height < TokenTrie::kMostHeight && node.height <= run.length);
    if (fits && (node.groups_below & ~run.groups) == 0) {
      insert(trie_.tokens_below(index));
      return;
    }
    visit(index, to);
    add({node.first_child, node.first_child + node.num_children, node.first_token, to, first_byte});
  }

  const TokenTrie& trie_;
  Configurations& configurations_;
  std::vector<Family> families_;
};

}  // namespace semfuse
