// Draws the first numbers of a network's parameters; each layer says which numbers its own begin with.
#pragma once

#include <cstdint>

#include "core/parameter_block.h"
#include "model/linear.h"

namespace semfuse {

// Number i of a parameter is a function of (seed, name of the parameter, i), so the order of the calls does not matter.
// Encoder layers all draw under the name of the first and so begin as its copies, as in PyTorch. What no call names
// begins at 0.
class InitialWeights {
 public:
  // `layout` must outlive it.
  InitialWeights(const ParameterLayout& layout, std::uint64_t seed) : layout_(layout), seed_(seed), weights_(layout) {}

  void uniform(ParameterId id, double bound);  // On [-bound, bound).
  void normal(ParameterId id);                 // Standard normal.
  void fill(ParameterId id, float value);

  // PyTorch's default for a linear map: uniform with bound 1 / √inputs.
  static double bound(const Linear& linear);
  void draw(const Linear& linear);

  ParameterBlock take() { return std::move(weights_); }

 private:
  const ParameterLayout& layout_;
  std::uint64_t seed_;
  ParameterBlock weights_;
};

}  // namespace semfuse
