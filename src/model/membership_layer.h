// Memberships as parameters: the centres and widths of low, medium and high of each attribute.
#pragma once

#include "core/parameter_block.h"
#include "semfuse/feature_bank.h"

namespace semfuse {

// Whatever numbers the parameters hold, the centres of an attribute ascend and lie within half a scale of [0, 1], and
// widths are from an eighth of their first value to eight times it. Parameters of 0 give the memberships of the
// options, which is where training begins and where weight decay pulls.
class MembershipLayer {
 public:
  MembershipLayer(ParameterLayout& layout, const FeatureOptions& options);

  AttributeMemberships memberships(const ParameterBlock& weights) const;

  // rows = the ungraded feature rows with degrees μ(x) in place of attributes x
  void grade(const ParameterBlock& weights, ConstMatrix ungraded, Matrix rows) const;

  // The gradient of centres and widths, at first 0.
  using Gradient = AttributeMemberships;
  // Adds the part of graded rows, whose gradient is d_rows.
  void add_rows(const ParameterBlock& weights, ConstMatrix ungraded, ConstMatrix d_rows, Gradient& gradient) const;
  // From centres and widths to the parameters, whose gradients it overwrites.
  void write_gradients(const ParameterBlock& weights, const Gradient& gradient, ParameterBlock& gradients) const;

 private:
  FeatureOptions options_;
  ParameterInfo gaps_;    // [attributes, 4]: from the lower bound to the first centre, ..., to the upper bound
  ParameterInfo widths_;  // [attributes, 3]
};

}  // namespace semfuse
