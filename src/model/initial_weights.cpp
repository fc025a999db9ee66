#include "model/initial_weights.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace semfuse {

namespace {

constexpr std::string_view kLayerPrefix = "enc.layers.";

// "enc.layers.3.linear1.bias" → "enc.layers.0.linear1.bias"
std::string drawn_as(const std::string& name) {
  if (!name.starts_with(kLayerPrefix)) return name;
  return layer_name(0) + name.substr(name.find('.', kLayerPrefix.size()));
}

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0;
  for (const char c : name) hash = mix_bits(hash + static_cast<unsigned char>(c) + 1);
  return hash;
}

}  // namespace

std::string layer_name(std::size_t layer) {
  return std::string(kLayerPrefix) + std::to_string(layer);
}

RandomStream InitialWeights::stream_of(ParameterId id) const {
  const std::string& name = layout_[id].name;
  return {seed_, RandomPurpose::weights, hash_of(layers_ == Layers::alike ? drawn_as(name) : name)};
}

void InitialWeights::uniform(ParameterId id, double bound) {
  const RandomStream random = stream_of(id);
  float* w = weights_.vector(layout_[id]);
  for (std::size_t i = 0; i < layout_[id].size; ++i) {
    w[i] = static_cast<float>((2.0 * random.uniform(i) - 1.0) * bound);
  }
}

void InitialWeights::normal(ParameterId id, double deviation) {
  const RandomStream random = stream_of(id);
  float* w = weights_.vector(layout_[id]);
  for (std::size_t i = 0; i < layout_[id].size; ++i) w[i] = static_cast<float>(deviation * random.normal(i));
}

void InitialWeights::fill(ParameterId id, float value) {
  std::fill_n(weights_.vector(layout_[id]), layout_[id].size, value);
}

double InitialWeights::bound(const Linear& linear) {
  return 1.0 / std::sqrt(static_cast<double>(linear.inputs));
}

void InitialWeights::draw(const Linear& linear, double scale) {
  uniform(linear.weight, scale * bound(linear));
  if (linear.bias) uniform(*linear.bias, scale * bound(linear));
}

}  // namespace semfuse
