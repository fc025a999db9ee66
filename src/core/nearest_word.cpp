#include "core/nearest_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace semfuse {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_letter(char a, char b) {
  return lower(a) == lower(b);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_rows_up(b.size() + 1);
  std::vector<std::size_t> row_above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(two_rows_up, row_above);
    std::swap(row_above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = row_above[j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({replaced, row_above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
      if (swapped) row[j] = std::min(row[j], two_rows_up[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> candidates,
                                        std::size_t most_edits) {
  const std::string* nearest = nullptr;
  std::size_t fewest_edits = 0;
  for (const std::string& candidate : candidates) {
    const auto [shorter, longer] = std::minmax({word.size(), candidate.size()});
    const std::size_t limit = std::min(most_edits, longer / 3);
    // Also keeps a very long word from outside cheap: it is compared with nothing.
    if (longer - shorter > limit) continue;
    const std::size_t edits = edit_distance(word, candidate);
    if (edits > limit || (nearest != nullptr && edits >= fewest_edits)) continue;
    nearest = &candidate;
    fewest_edits = edits;
  }
  if (nearest == nullptr) return std::nullopt;
  return *nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates, std::size_t most_edits) {
  const std::optional<std::string> nearest = nearest_word(word, candidates, most_edits);
  return nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : std::string();
}

}  // namespace semfuse
