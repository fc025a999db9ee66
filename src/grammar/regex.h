// Regular expressions as trees: the dialect of ECMA-262 without what is not regular.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "grammar/grammar_tree.h"

namespace semfuse {

// Nodes in one list, children before their parent; the root is the last.
struct Regex {
  enum class Kind : std::uint8_t { characters, sequence, choice, repeat, begin, end };

  struct Node {
    Kind kind = Kind::sequence;
    std::uint32_t least = 0;  // repeat: how often at least and at most (GrammarTree::kUnbounded).
    std::uint32_t most = 0;
    std::vector<CodePointRange> ranges;  // characters: normalised, without surrogates.
    std::vector<std::uint32_t> children;
  };

  std::vector<Node> nodes;

  std::uint32_t root() const { return static_cast<std::uint32_t>(nodes.size() - 1); }
  const Node& operator[](std::uint32_t node) const { return nodes[node]; }
};

// Throws Error "origin:1:column: what" for text that is not well formed or UTF-8, has look-around, back references,
// word boundaries or properties of characters, nests deeper than 100 or repeats more often than grammars may.
Regex parse_regex(std::string_view text, std::string_view origin);

// The tree of what must be read between `^` and `$`, if these stand nowhere but at the ends of the whole or of its
// alternatives. Where one is missing, any text (`filler`, a set of characters, repeated) may stand if `search`. False
// if they stand elsewhere.
bool without_anchors(Regex& regex, bool search, const std::vector<CodePointRange>& filler);

}  // namespace semfuse
