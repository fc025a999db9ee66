#include "text/word_cache.h"

#include <cstring>
#include <memory>
#include <new>

namespace semfuse {
namespace {

constexpr std::size_t kPlaces = std::size_t{1} << 16;
constexpr std::size_t kMaxEntries = kPlaces / 2;
constexpr std::size_t kProbes = 8;
constexpr std::size_t kLongestCached = 64;

}  // namespace

// One block of memory: this, the pieces, the bytes of the word. A word is looked up for every word of a text, so it
// matters that there is but one place to go to.
struct WordCache::Entry {
  std::uint64_t hash;
  std::uint32_t num_pieces;
  std::uint32_t num_bytes;

  static Entry* make(std::string_view word, std::uint64_t hash, std::span<const Piece> pieces) {
    static_assert(alignof(Piece) <= alignof(Entry));
    void* memory = ::operator new(sizeof(Entry) + pieces.size_bytes() + word.size());
    auto* entry = new (memory) Entry{.hash = hash,
                                     .num_pieces = static_cast<std::uint32_t>(pieces.size()),
                                     .num_bytes = static_cast<std::uint32_t>(word.size())};
    std::uninitialized_copy(pieces.begin(), pieces.end(), reinterpret_cast<Piece*>(entry + 1));
    std::memcpy(reinterpret_cast<char*>(entry + 1) + pieces.size_bytes(), word.data(), word.size());
    return entry;
  }
  struct Free {
    void operator()(const Entry* entry) const { ::operator delete(const_cast<Entry*>(entry)); }
  };

  std::span<const Piece> pieces() const { return {reinterpret_cast<const Piece*>(this + 1), num_pieces}; }
  bool is(std::string_view word, std::uint64_t of_hash) const {
    return hash == of_hash && num_bytes == word.size() &&
           std::memcmp(reinterpret_cast<const char*>(pieces().data() + num_pieces), word.data(), num_bytes) == 0;
  }
};

WordCache::WordCache() : places_(kPlaces) {}

WordCache::~WordCache() {
  for (const auto& place : places_) Entry::Free()(place.load(std::memory_order_relaxed));
}

std::span<const Piece> WordCache::find(std::string_view word, std::uint64_t hash) const {
  for (std::size_t i = 0; i < kProbes; ++i) {
    const Entry* entry = places_[(hash + i) % kPlaces].load(std::memory_order_acquire);
    if (entry == nullptr) break;
    if (entry->is(word, hash)) return entry->pieces();
  }
  return {};
}

void WordCache::insert(std::string_view word, std::uint64_t hash, std::span<const Piece> pieces) {
  if (word.size() > kLongestCached || num_entries_.load(std::memory_order_relaxed) >= kMaxEntries) return;
  std::unique_ptr<Entry, Entry::Free> entry(Entry::make(word, hash, pieces));
  for (std::size_t i = 0; i < kProbes; ++i) {
    const Entry* there = nullptr;
    if (places_[(hash + i) % kPlaces].compare_exchange_strong(there, entry.get(), std::memory_order_release,
                                                              std::memory_order_acquire)) {
      static_cast<void>(entry.release());
      num_entries_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (there->is(word, hash)) return;  // Another thread was quicker.
  }
}

}  // namespace semfuse
