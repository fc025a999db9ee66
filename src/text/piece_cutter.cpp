#include "text/piece_cutter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <queue>

#include "core/random.h"
#include "text/word_hash.h"

namespace semfuse {
namespace {

constexpr std::size_t kShort = 32;  // Bytes of a word for which looking through all pairs is quicker than a heap.

std::size_t pair_hash(TokenId left, TokenId right) {
  return mix_bits(static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right));
}

Piece byte_piece(char byte) {
  return {.id = Tokenizer::kFirstByte + static_cast<unsigned char>(byte), .length = 1};
}

// A merge that could be made. It is out of date once one of its two pieces has changed.
struct Candidate {
  TokenId result;
  std::uint32_t place;  // Of the left piece.

  bool operator>(const Candidate& other) const {
    return result != other.result ? result > other.result : place > other.place;
  }
};

struct Link {
  std::uint32_t before;
  std::uint32_t after;
};

}  // namespace

PieceCutter::PieceCutter(const std::vector<Merge>& merges) : slots_(std::bit_ceil(2 * merges.size() + 2)) {
  for (const Merge& merge : merges) {
    std::size_t place = pair_hash(merge.left, merge.right) & (slots_.size() - 1);
    while (slots_[place].result != kNone) place = (place + 1) & (slots_.size() - 1);
    slots_[place] = {.left = merge.left, .right = merge.right, .result = merge.result};
  }
}

TokenId PieceCutter::merged(TokenId left, TokenId right) const {
  std::size_t place = pair_hash(left, right) & (slots_.size() - 1);
  while (slots_[place].result != kNone && (slots_[place].left != left || slots_[place].right != right)) {
    place = (place + 1) & (slots_.size() - 1);
  }
  return slots_[place].result;
}

void PieceCutter::cut(std::string_view word, std::uint32_t begin, std::vector<Token>& tokens) const {
  const auto append = [&](std::span<const Piece> pieces) {
    for (const Piece& piece : pieces) {
      tokens.push_back({.id = piece.id, .begin = begin, .end = begin + piece.length});
      begin += piece.length;
    }
  };
  const std::uint64_t hash = word_hash(word);
  const std::span<const Piece> known = cache_.find(word, hash);
  if (!known.empty()) return append(known);
  std::vector<Piece> pieces;
  word.size() <= kShort ? cut_short(word, pieces) : cut_long(word, pieces);
  append(pieces);
  cache_.insert(word, hash, pieces);
}

void PieceCutter::cut_short(std::string_view word, std::vector<Piece>& pieces) const {
  std::array<TokenId, kShort> results;  // Of each piece and the one after it.
  for (const char c : word) pieces.push_back(byte_piece(c));
  const auto look_at = [&](std::size_t i) {
    results[i] = i + 1 < pieces.size() ? merged(pieces[i].id, pieces[i + 1].id) : kNone;
  };
  for (std::size_t i = 0; i < pieces.size(); ++i) look_at(i);
  while (true) {
    const auto end = results.begin() + static_cast<std::ptrdiff_t>(pieces.size());
    const auto best = std::min_element(results.begin(), end);
    if (*best == kNone) return;
    const auto i = static_cast<std::size_t>(best - results.begin());
    pieces[i] = {.id = *best, .length = pieces[i].length + pieces[i + 1].length};
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    std::copy(best + 2, end, best + 1);
    if (i > 0) look_at(i - 1);
    look_at(i);
  }
}

// A piece is at the place of its first byte; one that was merged into another has length 0.
void PieceCutter::cut_long(std::string_view word, std::vector<Piece>& pieces) const {
  const auto size = static_cast<std::uint32_t>(word.size());
  std::vector<Link> links(size);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  for (std::uint32_t i = 0; i < size; ++i) {
    pieces.push_back(byte_piece(word[i]));
    links[i] = {.before = i - 1, .after = i + 1};  // The first has none before it: the place wraps past the end.
  }
  const auto result_at = [&](std::uint32_t i) {
    if (i >= size || pieces[i].length == 0 || links[i].after >= size) return kNone;
    return merged(pieces[i].id, pieces[links[i].after].id);
  };
  const auto look_at = [&](std::uint32_t i) {
    if (const TokenId result = result_at(i); result != kNone) candidates.push({.result = result, .place = i});
  };
  for (std::uint32_t i = 0; i < size; ++i) look_at(i);
  while (!candidates.empty()) {
    const auto [result, left] = candidates.top();
    candidates.pop();
    if (result_at(left) != result) continue;
    const std::uint32_t right = links[left].after;
    pieces[left] = {.id = result, .length = pieces[left].length + pieces[right].length};
    pieces[right].length = 0;
    links[left].after = links[right].after;
    if (links[left].after < size) links[links[left].after].before = left;
    look_at(links[left].before);
    look_at(left);
  }
  std::erase_if(pieces, [](const Piece& piece) { return piece.length == 0; });
}

}  // namespace semfuse
