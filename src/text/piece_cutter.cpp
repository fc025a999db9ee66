#include "text/piece_cutter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <queue>
#include <utility>

#include "core/random.h"
#include "text/word_hash.h"

namespace semfuse {
namespace {

constexpr std::size_t kShort = 32;  // Symbols of a word for which looking through all pairs is quicker than a heap.

std::size_t pair_hash(TokenId left, TokenId right) {
  return mix_bits(static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right));
}

void append_bytes(std::string_view word, std::vector<Piece>& pieces) {
  for (const char c : word)
    pieces.push_back({.id = Tokenizer::kFirstByte + static_cast<unsigned char>(c), .length = 1});
}

// A merge that could be made. It is out of date once one of its two pieces has changed.
struct Candidate {
  std::uint32_t rank;
  std::uint32_t place;  // Of the left piece.
  TokenId result;

  bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : place > other.place; }
};

struct Link {
  std::uint32_t before;
  std::uint32_t after;
};

}  // namespace

PieceCutter::PieceCutter(const std::vector<Merge>& merges) : PieceCutter(merges, {}, append_bytes) {}

PieceCutter::PieceCutter(const std::vector<Merge>& merges, std::span<const std::uint32_t> ranks, Symbols symbols)
    : slots_(std::bit_ceil(2 * merges.size() + 2)), symbols_(std::move(symbols)) {
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const Merge& merge = merges[i];
    const std::uint32_t rank = ranks.empty() ? static_cast<std::uint32_t>(i) : ranks[i];
    std::size_t place = pair_hash(merge.left, merge.right) & (slots_.size() - 1);
    while (slots_[place].result.rank != kNone) place = (place + 1) & (slots_.size() - 1);
    slots_[place] = {.left = merge.left, .right = merge.right, .result = {.rank = rank, .id = merge.result}};
  }
}

PieceCutter::Result PieceCutter::merged(TokenId left, TokenId right) const {
  std::size_t place = pair_hash(left, right) & (slots_.size() - 1);
  while (slots_[place].result.rank != kNone && (slots_[place].left != left || slots_[place].right != right)) {
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
  symbols_(word, pieces);
  pieces.size() <= kShort ? cut_short(pieces) : cut_long(pieces);
  append(pieces);
  cache_.insert(word, hash, pieces);
}

void PieceCutter::cut_short(std::vector<Piece>& pieces) const {
  std::array<Result, kShort> results;  // Of each piece and the one after it.
  const auto look_at = [&](std::size_t i) {
    results[i] = i + 1 < pieces.size() ? merged(pieces[i].id, pieces[i + 1].id) : Result();
  };
  for (std::size_t i = 0; i < pieces.size(); ++i) look_at(i);
  while (!pieces.empty()) {
    const auto end = results.begin() + static_cast<std::ptrdiff_t>(pieces.size());
    const auto best =
        std::min_element(results.begin(), end, [](const Result& a, const Result& b) { return a.rank < b.rank; });
    if (best->rank == kNone) return;
    const auto i = static_cast<std::size_t>(best - results.begin());
    pieces[i] = {.id = best->id, .length = pieces[i].length + pieces[i + 1].length};
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    std::copy(best + 2, end, best + 1);
    if (i > 0) look_at(i - 1);
    look_at(i);
  }
}

// A piece is at the place of its first symbol; one that was merged into another has length 0.
void PieceCutter::cut_long(std::vector<Piece>& pieces) const {
  const auto size = static_cast<std::uint32_t>(pieces.size());
  std::vector<Link> links(size);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  for (std::uint32_t i = 0; i < size; ++i) {
    links[i] = {.before = i - 1, .after = i + 1};  // The first has none before it: the place wraps past the end.
  }
  const auto result_at = [&](std::uint32_t i) {
    if (i >= size || pieces[i].length == 0 || links[i].after >= size) return Result();
    return merged(pieces[i].id, pieces[links[i].after].id);
  };
  const auto look_at = [&](std::uint32_t i) {
    if (const Result result = result_at(i); result.rank != kNone) {
      candidates.push({.rank = result.rank, .place = i, .result = result.id});
    }
  };
  for (std::uint32_t i = 0; i < size; ++i) look_at(i);
  while (!candidates.empty()) {
    const auto [rank, left, result] = candidates.top();
    candidates.pop();
    const Result now = result_at(left);
    if (now.rank != rank || now.id != result) continue;
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
