#include "data/distinct_texts.h"

#include <utility>

namespace semfuse {

DistinctTexts::Place& DistinctTexts::find(std::uint64_t hash) {
  // The low bits chose the texts; the high ones tell them apart.
  std::size_t i = (hash >> 20) & (places_.size() - 1);
  while (places_[i].count != 0 && places_[i].hash != hash) i = (i + 1) & (places_.size() - 1);
  return places_[i];
}

void DistinctTexts::rebuild(std::size_t size) {
  const std::vector<Place> old = std::exchange(places_, std::vector<Place>(size));
  kept_ = 0;
  repeated_ = 0;
  for (const Place& place : old) {
    if (place.count == 0 || !is_chosen(place.hash)) continue;
    find(place.hash) = place;
    ++kept_;
    repeated_ += place.count - 1;
  }
}

void DistinctTexts::add(std::uint64_t hash) {
  if (!is_chosen(hash)) return;
  Place& place = find(hash);
  if (place.count > 0) {
    ++place.count;
    ++repeated_;
    return;
  }
  place = {.hash = hash, .count = 1};
  ++kept_;
  if (kept_ > max_kept_) {
    ++shift_;
    rebuild(places_.size());
  } else if (kept_ * 2 > places_.size()) {
    rebuild(places_.size() * 2);
  }
}

}  // namespace semfuse
