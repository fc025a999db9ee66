#include "text/foreign_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

// Length of the character that a text begins with; of a byte that begins none, 1.
std::size_t symbol_length(std::string_view text) {
  const std::size_t length = utf8_character_length(text);
  return length == 0 ? 1 : length;
}

struct PairHash {
  std::size_t operator()(const std::pair<TokenId, TokenId>& pair) const {
    return static_cast<std::size_t>(pair.first) * 0x9E3779B97F4A7C15U + static_cast<std::size_t>(pair.second);
  }
};

}  // namespace

void check(const ForeignParts& parts, std::string_view origin) {
  const auto refuse = [&](std::string_view what) {
    throw Error(fmt::format("{}: {}; the tokenizer is damaged, fetch it again", origin, what));
  };
  const std::size_t size = parts.surfaces.size();
  const std::size_t num_symbols = size + parts.characters.size();
  if (size == 0 || num_symbols > kMaxTokenizerSize) refuse(fmt::format("has {} entries", num_symbols));
  const auto is_id = [&](TokenId id, std::size_t end) { return id >= 0 && static_cast<std::size_t>(id) < end; };
  const auto surface = [&](TokenId id) -> const std::string& {
    const auto i = static_cast<std::size_t>(id);
    return i < size ? parts.surfaces[i] : parts.characters[i - size];
  };
  for (const std::string& character : parts.characters) {
    if (character.empty() || symbol_length(character) != character.size()) refuse("a character is none");
  }
  std::unordered_set<std::pair<TokenId, TokenId>, PairHash> pairs;
  for (std::size_t i = 0; i < parts.merges.size(); ++i) {
    const auto [left, right, result] = parts.merges[i];
    const bool fits = is_id(left, num_symbols) && is_id(right, num_symbols) && is_id(result, size) &&
                      !surface(left).empty() && !surface(right).empty() &&
                      surface(result) == surface(left) + surface(right);
    if (!fits) refuse(fmt::format("merge {} does not join two entries to a third", i));
    if (!pairs.emplace(left, right).second) refuse(fmt::format("merge {} was there before", i));
  }
  if (!parts.ranks.empty() && parts.ranks.size() != parts.merges.size()) refuse("merges and ranks are not as many");
  std::unordered_set<std::string_view> added;
  for (const AddedToken& token : parts.added) {
    if (!is_id(token.id, size)) refuse(fmt::format("added token {} is none of the entries", token.id));
    if (token.text.empty() || token.text.size() > 1000)
      refuse(fmt::format("added token {} has {} bytes", token.id, token.text.size()));
    if (!added.insert(token.text).second) refuse(fmt::format("{} was added twice", quoted_text(token.text)));
  }
  if (parts.unknown && !is_id(*parts.unknown, size)) refuse("the unknown token is none of the entries");
  if (!parts.byte_ids.empty() && parts.byte_ids.size() != 256) refuse("not 256 bytes have ids");
  for (const TokenId id : parts.byte_ids) {
    if (!is_id(id, size)) refuse(fmt::format("a byte has the id {}, which is none of the entries", id));
  }
  if (parts.patterns.size() > 16) refuse(fmt::format("has {} split patterns", parts.patterns.size()));
}

void merge_by_scores(ForeignParts& parts, const std::vector<double>& scores, const std::vector<bool>& mergeable) {
  const std::size_t size = parts.surfaces.size();
  std::unordered_map<std::string_view, TokenId> ids;
  // Of two with the same text the later one is meant: the first is a byte.
  for (std::size_t id = 0; id < size; ++id) {
    if (mergeable[id] && !parts.surfaces[id].empty()) ids[parts.surfaces[id]] = static_cast<TokenId>(id);
  }
  parts.characters.clear();
  std::unordered_map<std::string_view, TokenId> characters;
  std::vector<std::string_view> new_characters;
  for (const auto& [text, id] : ids) {
    for (std::string_view left = text; !left.empty();) {
      const std::string_view character = left.substr(0, symbol_length(left));
      left.remove_prefix(character.size());
      if (!ids.contains(character) && characters.emplace(character, 0).second) new_characters.push_back(character);
    }
  }
  std::sort(new_characters.begin(), new_characters.end());
  for (std::size_t i = 0; i < new_characters.size(); ++i) {
    characters[new_characters[i]] = static_cast<TokenId>(size + i);
    parts.characters.emplace_back(new_characters[i]);
  }
  const auto find = [&](std::string_view text) {
    if (const auto found = ids.find(text); found != ids.end()) return found->second;
    const auto found = characters.find(text);
    return found == characters.end() ? TokenId{-1} : found->second;
  };
  // Equal scores have one rank, so that the leftmost goes first.
  std::vector<double> levels(scores);
  std::sort(levels.begin(), levels.end(), std::greater<>());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  struct Ranked {
    std::uint32_t rank;
    Merge merge;
  };
  std::vector<Ranked> found;
  for (std::size_t id = 0; id < size; ++id) {
    const std::string_view text = parts.surfaces[id];
    if (!mergeable[id] || text.empty() || ids.at(text) != static_cast<TokenId>(id)) continue;
    const auto level = std::lower_bound(levels.begin(), levels.end(), scores[id], std::greater<>());
    for (std::size_t cut = symbol_length(text); cut < text.size(); cut += symbol_length(text.substr(cut))) {
      const TokenId left = find(text.substr(0, cut));
      const TokenId right = find(text.substr(cut));
      if (left < 0 || right < 0) continue;
      found.push_back({static_cast<std::uint32_t>(level - levels.begin()), {left, right, static_cast<TokenId>(id)}});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
  parts.merges.clear();
  parts.ranks.clear();
  for (const Ranked& ranked : found) {
    parts.merges.push_back(ranked.merge);
    parts.ranks.push_back(ranked.rank);
  }
}

}  // namespace semfuse
