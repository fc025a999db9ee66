// The fuzzy sets low, medium and high that graded features are degrees of, and the shape of such a set.
#pragma once

#include <array>
#include <string_view>

namespace semfuse {

// How a membership falls with the distance d = |x - c| / bandwidth from its centre.
enum class MembershipKernel {
  power,       // kernel_base^d
  triangular,  // max(0, 1 - d)
  gaussian     // exp(-d² / 2)
};

std::string_view to_string(MembershipKernel kernel);

// The low, medium and high of one attribute.
struct Memberships {
  std::array<double, 3> centers{};
  std::array<double, 3> widths{};
  bool operator==(const Memberships&) const = default;
};

// Of positivity, negativity and strength, the attributes that graded features are degrees of.
using AttributeMemberships = std::array<Memberships, 3>;

}  // namespace semfuse
