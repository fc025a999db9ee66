// Draws the first numbers of a network's parameters; each layer says which numbers its own begin with.
#pragma once

#include <cstdint>
#include <string>

#include "core/parameter_block.h"
#include "core/random.h"
#include "model/linear.h"

namespace semfuse {

// How names of the parameters of an encoder layer begin: "enc.layers.3".
std::string layer_name(std::size_t layer);

// Number i of a parameter is a function of (seed, name of the parameter, i), so the order of the calls does not matter.
// What no call names begins at 0.
class InitialWeights {
 public:
  // alike: encoder layers all draw under the name of the first and so begin as its copies, as in PyTorch.
  enum class Layers { alike, different };

  // `layout` must outlive it.
  InitialWeights(const ParameterLayout& layout, std::uint64_t seed, Layers layers = Layers::alike)
      : layout_(layout), seed_(seed), layers_(layers), weights_(layout) {}

  void uniform(ParameterId id, double bound);  // On [-bound, bound).
  void normal(ParameterId id, double deviation = 1.0);
  void fill(ParameterId id, float value);

  // PyTorch's default for a linear map: uniform with bound 1 / √inputs; times `scale` if one is given.
  static double bound(const Linear& linear);
  void draw(const Linear& linear, double scale = 1.0);

  ParameterBlock take() { return std::move(weights_); }

 private:
  RandomStream stream_of(ParameterId id) const;

  const ParameterLayout& layout_;
  std::uint64_t seed_;
  Layers layers_;
  ParameterBlock weights_;
};

}  // namespace semfuse
