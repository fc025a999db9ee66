#include "text/surface_table.h"

#include <bit>

#include "text/word_hash.h"

namespace semfuse {

SurfaceTable::SurfaceTable(const std::vector<std::string>& surfaces)
    : surfaces_(&surfaces), slots_(std::bit_ceil(2 * surfaces.size() + 2)) {
  for (std::size_t id = 0; id < surfaces.size(); ++id) {
    if (surfaces[id].empty()) continue;
    const std::uint64_t hash = word_hash(surfaces[id]);
    std::size_t place = hash & (slots_.size() - 1);
    while (slots_[place].id >= 0) place = (place + 1) & (slots_.size() - 1);
    slots_[place] = {.hash = static_cast<std::uint32_t>(hash >> 32), .id = static_cast<TokenId>(id)};
  }
}

TokenId SurfaceTable::find(std::string_view word) const {
  const std::uint64_t hash = word_hash(word);
  const auto high = static_cast<std::uint32_t>(hash >> 32);
  for (std::size_t place = hash & (slots_.size() - 1);; place = (place + 1) & (slots_.size() - 1)) {
    const Slot slot = slots_[place];
    if (slot.id < 0) return -1;
    if (slot.hash == high && (*surfaces_)[static_cast<std::size_t>(slot.id)] == word) return slot.id;
  }
}

}  // namespace semfuse
