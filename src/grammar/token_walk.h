// Walks over the tokens that a grammar can read.
#pragma once

#include <array>
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
    const ConfigurationId to = configurations.step(level.at, trie[node].byte());
    if (to == Configurations::kDead) continue;
    visit(node, to, level.at);
    if (!trie.is_leaf(node)) levels.push_back({trie[node].first_child, trie.end_of_children(node), to});
  }
  return work;
}

// Finds the tokens whose strings the grammar can read, and calls insert(tokens) for them. Calls visit(node,
// configuration) for the nodes that it walks through and that have others below them: not for those of which it takes
// all tokens at once, since the grammar reads every string there. Level by level, so that what is below a node has come
// from memory when it is looked at. For one walk.
class ReadableTokens {
 public:
  // Subtrees without tokens of these kinds are passed over, by the byte that they begin with, and behind a blank that
  // they begin with.
  struct Wanted {
    std::array<TokenKinds, 256> first;
    std::array<TokenKinds, 256> behind_blank;
    bool tells_behind_blank = false;  // Otherwise what follows a blank is wanted as the blank is.
  };

  ReadableTokens(const TokenTrie& trie, Configurations& configurations)
      : trie_(trie), configurations_(configurations), classes_(configurations.byte_classes()) {
    families_.reserve(64);
  }

  // From the root; all kinds are wanted if nothing else is said.
  template <typename Insert, typename Visit>
  void find(ConfigurationId begin, const Wanted* wanted, Insert insert, Visit visit) {
    const Configurations::Row row = configurations_.row(begin);
    for (std::size_t byte = 0; byte < 256; ++byte) {  // Most states read few bytes.
      if (row[classes_[byte]].load(std::memory_order_relaxed) == Configurations::kDead) continue;
      const std::uint32_t node = trie_.first_level(static_cast<std::uint8_t>(byte));
      if (node != 0) look_at(node, begin, row, wanted == nullptr ? kAllKinds : wanted->first[byte], insert, visit);
      if (byte != ' ' || wanted == nullptr || !wanted->tells_behind_blank || families_.empty()) continue;
      const Family blank = families_.back();
      if (trie_[node].first_child != blank.first) continue;
      families_.pop_back();
      add_behind_blank(blank, *wanted);
    }
    finish(insert, visit);
  }

  // Into a set: from the root, or below these nodes.
  void insert(ConfigurationId begin, TokenSet& set) { find(begin, nullptr, Into{set}, kNoVisit); }
  void insert_below(std::span<const std::uint32_t> nodes, ConfigurationId begin, TokenSet& set) {
    for (const std::uint32_t node : nodes)
      add({kAllKinds, trie_[node].first_child, trie_.end_of_children(node), kNoTokens, begin});
    finish(Into{set}, kNoVisit);
  }

 private:
  static constexpr TokenKinds kAllKinds = ~TokenTrie::kByteOfKey;
  static constexpr std::uint32_t kNoTokens = 0xFFFFFFFF;
  static constexpr auto kNoVisit = [](std::uint32_t, ConfigurationId) {};
  struct Into {
    TokenSet& set;
    void operator()(std::span<const TokenId> tokens) const {
      for (const TokenId token : tokens) set.insert(token);
    }
  };

  // Children of a node, and where its own tokens begin: they end where those of its first child begin.
  struct Family {
    TokenKinds wanted;
    std::uint32_t first;
    std::uint32_t end;
    std::uint32_t first_token;
    ConfigurationId at;
  };

  void add(const Family& family) {
    trie_.fetch(family.first);
    families_.push_back(family);
  }

  void add_behind_blank(const Family& blank, const Wanted& wanted) {
    Family one = blank;
    for (std::uint32_t child = blank.first; child < blank.end; ++child) {
      one.first = child;
      one.end = child + 1;
      one.wanted = wanted.behind_blank[trie_[child].byte()];
      add(one);
      one.first_token = kNoTokens;
    }
  }

  template <typename Insert, typename Visit>
  void finish(Insert insert, Visit visit) {
    for (std::size_t i = 0; i < families_.size(); ++i) {
      const Family family = families_[i];
      const std::uint32_t end_token = trie_[family.first].first_token;
      if (family.first_token < end_token) insert(trie_.tokens_between(family.first_token, end_token));
      const Configurations::Row row = configurations_.row(family.at);
      for (std::uint32_t node = family.first; node < family.end; ++node)
        look_at(node, family.at, row, family.wanted, insert, visit);
    }
  }

  template <typename Insert, typename Visit>
  void look_at(std::uint32_t index, ConfigurationId at, Configurations::Row row, TokenKinds wanted, Insert& insert,
               Visit& visit) {
    const TokenTrie::Node& node = trie_[index];
    ConfigurationId to = row[classes_[node.byte()]].load(std::memory_order_relaxed);
    if (to == Configurations::kDead || (node.key & wanted) == 0) return;
    if (node.num_children == 0) {  // Whatever it leads to.
      insert(trie_.tokens_below(index));
      return;
    }
    if (to == Configurations::kUnknown) to = configurations_.step(at, node.byte());
    const StateRun run = configurations_.run(to);
    const bool fits =
        run.length == StateRun::kEndless || (node.height < TokenTrie::kMostHeight && node.height <= run.length);
    if (fits && (node.groups_below & ~run.groups) == 0) {
      insert(trie_.tokens_below(index));
      return;
    }
    visit(index, to);
    add({wanted, node.first_child, node.first_child + node.num_children, node.first_token, to});
  }

  const TokenTrie& trie_;
  Configurations& configurations_;
  const std::uint8_t* classes_;
  std::vector<Family> families_;
};

}  // namespace semfuse
