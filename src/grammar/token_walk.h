// Walks over the tokens that a grammar can read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "grammar/configurations.h"
#include "grammar/draft_mask.h"
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

// Finds the tokens whose strings the grammar can read, and calls insert(tokens) for them. Calls visit(node, whether the
// text may end there) for the nodes that it walks through and that have others below them: not for those of which it
// takes all tokens at once, since the grammar reads every string there. For one walk.
class ReadableTokens {
 public:
  // Subtrees without tokens of these kinds are passed over, by the byte that they begin with, and behind a blank that
  // they begin with.
  struct Wanted {
    std::array<TokenKinds, 256> first;
    std::array<TokenKinds, 256> behind_blank;
    bool tells_behind_blank = false;  // Otherwise what follows a blank is wanted as the blank is.
  };

  // Children of a node that are still to be looked at, and where its own tokens begin: they end where those of its
  // first child begin.
  struct Family {
    TokenKinds wanted;
    std::uint32_t first;
    std::uint32_t end;
    std::uint32_t first_token;
    ConfigurationId at;
  };
  struct Memory {  // Used for one walk after the other.
    std::vector<Family> now;
    std::vector<Family> next;
  };

  ReadableTokens(const TokenTrie& trie, Configurations& configurations, Memory& memory)
      : trie_(trie), configurations_(configurations), classes_(configurations.byte_classes()), memory_(memory) {
    memory_.next.clear();
  }

  // From the root; all kinds are wanted if nothing else is said.
  template <typename Insert, typename Visit>
  void find(ConfigurationId begin, const Wanted* wanted, Insert insert, Visit visit) {
    configurations_.for_next_bytes(begin, [&](std::uint8_t byte) {
      const std::uint32_t node = trie_.first_level(byte);
      const TokenKinds here = wanted == nullptr ? kAllKinds : wanted->first[byte];
      if (node == 0 || (trie_[node].key & here) == 0) return;
      const std::size_t before = memory_.next.size();
      look_at(node, begin, Configurations::kUnknown, here, insert, visit);
      if (byte != ' ' || wanted == nullptr || !wanted->tells_behind_blank || memory_.next.size() == before) return;
      const Family blank = memory_.next.back();
      memory_.next.pop_back();
      add_behind_blank(blank, *wanted);
    });
    finish(insert, visit);
  }

  // Into a draft: from the root, or below these nodes.
  void insert(ConfigurationId begin, DraftMask& draft) { find(begin, nullptr, Into{draft}, kNoVisit); }
  void insert_below(std::span<const std::uint32_t> nodes, ConfigurationId begin, DraftMask& draft) {
    for (const std::uint32_t node : nodes)
      add({kAllKinds, trie_[node].first_child, trie_.end_of_children(node), kNoTokens, begin});
    finish(Into{draft}, kNoVisit);
  }

 private:
  static constexpr TokenKinds kAllKinds = ~TokenTrie::kByteOfKey;
  static constexpr std::uint32_t kNoTokens = 0xFFFFFFFF;
  static constexpr auto kNoVisit = [](std::uint32_t, bool) {};
  struct Into {
    DraftMask& draft;
    void operator()(std::span<const TokenId> tokens) const { draft.insert(tokens); }
  };

  void add(const Family& family) {
    trie_.fetch(family.first);
    memory_.next.push_back(family);
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

  // Level by level, so that what is below a node has come from memory when it is looked at.
  template <typename Insert, typename Visit>
  void finish(Insert insert, Visit visit) {
    while (!memory_.next.empty()) {
      memory_.now.swap(memory_.next);
      memory_.next.clear();
      for (const Family& family : memory_.now) {
        if (family.at != row_of_) {
          row_of_ = family.at;
          row_ = configurations_.row(family.at);
        }
        const Configurations::Row row = row_;
        const std::uint32_t end_token = trie_[family.first].first_token;
        if (family.first_token < end_token) insert(trie_.tokens_between(family.first_token, end_token));
        for (std::uint32_t index = family.first; index < family.end; ++index) {
          const TokenTrie::Node& node = trie_[index];
          if ((node.key & family.wanted) == 0) continue;
          const ConfigurationId to = row[classes_[node.byte()]].load(std::memory_order_relaxed);
          if (to != Configurations::kDead) look_at(index, family.at, to, family.wanted, insert, visit);
        }
      }
    }
  }

  // A node that is wanted and read. `to`: what it leads to, if that is known.
  template <typename Insert, typename Visit>
  void look_at(std::uint32_t index, ConfigurationId at, ConfigurationId to, TokenKinds wanted, Insert& insert,
               Visit& visit) {
    const TokenTrie::Node& node = trie_[index];
    if (node.num_children == 0) {  // Whatever it leads to.
      insert(trie_.tokens_below(index));
      return;
    }
    if (to == Configurations::kUnknown) to = configurations_.step(at, trie_[index].byte());
    if (to != closure_of_) {
      closure_of_ = to;
      closure_ = &configurations_.closure(to);
    }
    const StateRun& run = closure_->run;
    const bool fits =
        run.length == StateRun::kEndless || (node.height < TokenTrie::kMostHeight && node.height <= run.length);
    if (fits && (node.groups_below & ~run.groups) == 0) {
      insert(trie_.tokens_below(index));
      return;
    }
    visit(index, closure_->accepting);
    add({wanted, node.first_child, node.first_child + node.num_children, node.first_token, to});
  }

  const TokenTrie& trie_;
  Configurations& configurations_;
  const std::uint8_t* classes_;
  Memory& memory_;
  // Of the last that were looked at; the next is mostly the same.
  ConfigurationId row_of_ = Configurations::kUnknown;
  ConfigurationId closure_of_ = Configurations::kUnknown;
  Configurations::Row row_ = nullptr;
  const Configurations::Closure* closure_ = nullptr;
};

}  // namespace semfuse
