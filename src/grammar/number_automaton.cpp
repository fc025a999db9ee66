#include "grammar/number_automaton.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "semfuse/error.h"

namespace semfuse {
namespace {

using Bound = NumberBounds::Bound;
using Edge = CharacterAutomaton::Edge;
using State = CharacterAutomaton::State;

constexpr std::size_t kMostNumberStates = 20'000;
constexpr std::uint64_t kMostMultiple = 100'000;

// m = factor / 10^scale
struct Multiple {
  std::uint64_t factor = 1;
  std::size_t scale = 0;
};

Multiple multiple_of(const Decimal& number) {
  const std::string digits = number.whole + number.fraction;
  std::uint64_t factor = 0;
  for (const char digit : digits) {
    factor = factor * 10 + static_cast<std::uint64_t>(digit - '0');
    if (factor > kMostMultiple)
      throw Error("multiples of this number have too many states; choose one of fewer digits");
  }
  return {.factor = factor, .scale = number.fraction.size()};
}

std::uint64_t shifted(std::uint64_t residue, std::size_t zeros, std::uint64_t factor) {
  for (std::size_t i = 0; i < zeros; ++i) residue = residue * 10 % factor;
  return residue;
}

// Reads a number without its sign from the left, and knows how it compares with the bounds so far.
class Magnitudes {
 public:
  Magnitudes(bool whole, std::optional<Bound> least, std::optional<Bound> most, const std::vector<Multiple>& multiples)
      : whole_(whole), bounds_{std::move(least), std::move(most)}, multiples_(multiples) {
    for (const std::optional<Bound>& bound : bounds_) {
      if (!bound) continue;
      most_whole_ = std::max(most_whole_, bound->value.whole.size() + 1);
      most_fraction_ = std::max(most_fraction_, bound->value.fraction.size() + 1);
    }
    for (const Multiple& multiple : multiples) most_fraction_ = std::max(most_fraction_, multiple.scale + 1);
  }

  enum Phase : std::uint8_t { before, zero, digits, point, fraction };

  struct Place {
    Phase phase = before;
    std::size_t read = 0;  // Digits of the whole part, or of the fraction; no more than matter.
    // Against each bound: below, the same so far, above. Before the point, of the digits read alone.
    std::array<int, 2> order = {0, 0};
    std::vector<std::uint64_t> residues;
    auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr): there is no pointer.
  };

  Place begin() const { return {.residues = std::vector<std::uint64_t>(multiples_.size())}; }

  // Nothing if no number goes on so.
  std::optional<Place> after(Place place, char c) const {
    if (c == '.') {
      if (whole_ || (place.phase != zero && place.phase != digits)) return std::nullopt;
      for (std::size_t b = 0; b < 2; ++b) place.order[b] = order_of_whole(place, b);
      place.phase = point;
      place.read = 0;
      return within(place) ? std::optional(place) : std::nullopt;
    }
    if (place.phase == zero) return std::nullopt;
    const bool behind_point = place.phase == point || place.phase == fraction;
    const std::size_t index = behind_point ? place.read : place.phase == before ? 0 : place.read;
    for (std::size_t m = 0; m < multiples_.size(); ++m) {
      const Multiple& multiple = multiples_[m];
      if (behind_point && index >= multiple.scale) {
        if (c != '0') return std::nullopt;
      } else {
        place.residues[m] = (place.residues[m] * 10 + static_cast<std::uint64_t>(c - '0')) % multiple.factor;
      }
    }
    for (std::size_t b = 0; b < 2; ++b) {
      if (!bounds_[b] || place.order[b] != 0) continue;
      const std::string& theirs = behind_point ? bounds_[b]->value.fraction : bounds_[b]->value.whole;
      const char their = index < theirs.size() ? theirs[index] : '0';
      if (behind_point || index < theirs.size()) place.order[b] = c < their ? -1 : c > their ? 1 : 0;
    }
    if (place.phase == before && c == '0') {
      place.phase = zero;
      place.order = {0, 0};
      return place;
    }
    place.phase = behind_point ? fraction : digits;
    place.read = std::min(index + 1, behind_point ? most_fraction_ : most_whole_);
    if (!behind_point && bounds_[1] && place.read > bounds_[1]->value.whole.size()) return std::nullopt;
    return !behind_point || within(place) ? std::optional(place) : std::nullopt;
  }

  bool accepts(const Place& place) const {
    if (place.phase == before || place.phase == point) return false;
    const bool behind_point = place.phase == fraction;
    for (std::size_t b = 0; b < 2; ++b) {
      if (!bounds_[b]) continue;
      int order = behind_point ? place.order[b] : order_of_whole(place, b);
      if (order == 0 && bounds_[b]->value.fraction.size() > (behind_point ? place.read : 0)) order = -1;
      if (order == 0 ? bounds_[b]->exclusive : (b == 0) != (order > 0)) return false;
    }
    for (std::size_t m = 0; m < multiples_.size(); ++m) {
      const std::size_t read = behind_point ? std::min(place.read, multiples_[m].scale) : 0;
      if (shifted(place.residues[m], multiples_[m].scale - read, multiples_[m].factor) != 0) return false;
    }
    return true;
  }

 private:
  int order_of_whole(const Place& place, std::size_t b) const {
    if (!bounds_[b]) return 0;
    const std::size_t read = place.phase == zero ? 0 : place.read;
    const std::size_t theirs = bounds_[b]->value.whole.size();
    return read != theirs ? (read < theirs ? -1 : 1) : place.order[b];
  }

  // Whether what was read, up to the point or behind it, leaves a number between the bounds.
  bool within(const Place& place) const {
    return !(bounds_[0] && place.order[0] < 0) && !(bounds_[1] && place.order[1] > 0);
  }

  bool whole_;
  std::array<std::optional<Bound>, 2> bounds_;
  const std::vector<Multiple>& multiples_;
  std::size_t most_whole_ = 1;
  std::size_t most_fraction_ = 1;
};

class NumberBuilder {
 public:
  std::vector<State> build(const NumberBounds& bounds) {
    std::vector<Multiple> multiples;
    for (const Decimal& number : bounds.multiples_of) multiples.push_back(multiple_of(number));
    states_.emplace_back();
    const auto flipped = [](const std::optional<Bound>& bound) {
      return bound ? std::optional(Bound{bound->value.negated(), bound->exclusive}) : std::nullopt;
    };
    add(bounds.whole, bounds.least, bounds.most, multiples, 0);
    const auto minus = static_cast<std::uint32_t>(states_.size());
    states_.emplace_back();
    states_[0].edges.insert(states_[0].edges.begin(), {'-', '-', minus});
    add(bounds.whole, flipped(bounds.most), flipped(bounds.least), multiples, minus);
    return std::move(states_);
  }

 private:
  void add(bool whole, std::optional<Bound> least, std::optional<Bound> most, const std::vector<Multiple>& multiples,
           std::uint32_t start) {
    if (most && most->value.negative) return;
    if (least && least->value.negative) least.reset();
    const Magnitudes magnitudes(whole, std::move(least), std::move(most), multiples);
    std::map<Magnitudes::Place, std::uint32_t> ids = {{magnitudes.begin(), start}};
    std::vector<std::pair<Magnitudes::Place, std::uint32_t>> open = {{magnitudes.begin(), start}};
    for (std::size_t i = 0; i < open.size(); ++i) {
      const auto [place, from] = open[i];
      for (const char c : std::string_view(".0123456789")) {
        const std::optional<Magnitudes::Place> to = magnitudes.after(place, c);
        if (!to) continue;
        const auto [found, added] = ids.emplace(*to, static_cast<std::uint32_t>(states_.size()));
        if (added) {
          if (states_.size() >= kMostNumberStates)
            throw Error("these numbers have too many states; choose rounder bounds");
          states_.push_back({.accepting = magnitudes.accepts(*to)});
          open.emplace_back(*to, found->second);
        }
        const auto character = static_cast<char32_t>(c);
        std::vector<Edge>& edges = states_[from].edges;
        if (!edges.empty() && edges.back().target == found->second && edges.back().high + 1 == character) {
          edges.back().high = character;
        } else {
          edges.push_back({character, character, found->second});
        }
      }
    }
  }

  std::vector<State> states_;
};

}  // namespace

bool NumberBounds::contains(const Decimal& number) const {
  if (whole && !number.is_whole()) return false;
  if (least && (number < least->value || (least->exclusive && number == least->value))) return false;
  if (most && (number > most->value || (most->exclusive && number == most->value))) return false;
  if (multiples_of.empty()) return true;
  const std::string text = (number.negative ? "-" : "") + (number.whole.empty() ? "0" : number.whole) +
                           (number.fraction.empty() ? "" : "." + number.fraction);
  return number_automaton({.multiples_of = multiples_of}).matches(text);
}

bool NumberBounds::is_empty() const {
  if (!least || !most) return false;
  if (least->value > most->value) return true;
  return least->value == most->value && (least->exclusive || most->exclusive);
}

CharacterAutomaton number_automaton(const NumberBounds& bounds) {
  return CharacterAutomaton(NumberBuilder().build(bounds));
}

}  // namespace semfuse
