// Which columns of a feature matrix are degrees: low, medium and high of each attribute.
#pragma once

#include <array>
#include <cstddef>

namespace semfuse {

struct GradedColumn {
  std::size_t column;
  std::size_t attribute;  // Index of AttributeMemberships.
  std::size_t level;      // Index of Memberships::centers and widths.
};

constexpr std::size_t kNumGradedColumns = 9;
const std::array<GradedColumn, kNumGradedColumns>& graded_columns();

// Stands in an ungraded row for an attribute that the entry does not have, as <pad> or as a word of FeatureSet::open
// whose attribute is 0: every degree of it is 0.
// Attributes themselves are never negative.
constexpr float kNoAttribute = -1.0f;

}  // namespace semfuse
