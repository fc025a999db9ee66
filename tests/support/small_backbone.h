// Small random pretrained models of every shape, and their files.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "backbone/backbone_tensors.h"
#include "backbone/imported_model.h"
#include "core/random.h"
#include "io/tensor_archive_writer.h"
#include "support/reference_backbone.h"

namespace semfuse {

// A Llama with grouped heads, or a GPT-2; change sizes and variants at will before small_backbone().
inline BackboneSpec small_backbone_spec(BackboneFamily family) {
  BackboneSpec spec{.family = family,
                    .vocab_size = 37,
                    .model_width = 24,
                    .num_layers = 2,
                    .num_heads = 4,
                    .num_key_heads = 2,
                    .head_width = 6,
                    .hidden_width = 20,
                    .context = 70,
                    .tied = true,
                    .source = "random numbers",
                    .source_sha256 = std::string(64, '0')};
  if (family == BackboneFamily::gpt2) {
    spec.num_key_heads = 4;
    spec.norm = BackboneNorm::layer;
    spec.activation = BackboneActivation::gelu_tanh;
    spec.positions = BackbonePositions::learned;
  }
  return spec;
}

inline ReferenceBackbone<double> small_backbone(const BackboneSpec& spec, std::uint64_t seed = 1) {
  ReferenceBackbone<double> model{.spec = spec, .tensors = {}};
  std::uint64_t index = 0;
  const auto add = [&](const std::vector<TensorNeed>& needs) {
    for (const TensorNeed& need : needs) {
      if (need.is_optional) continue;
      const RandomStream random(seed, RandomPurpose::weights, index++);
      const double size = need.is_matrix ? 2.0 / std::sqrt(static_cast<double>(need.columns)) : 0.4;
      const bool is_scale = need.name.ends_with("norm.weight");
      std::vector<double>& numbers = model.tensors[need.name];
      for (std::size_t i = 0; i < need.rows * need.columns; ++i) {
        numbers.push_back(static_cast<float>(size * (random.uniform(i) - 0.5) + (is_scale ? 1.0 : 0.0)));
      }
    }
  };
  add(outer_tensors(spec));
  for (std::size_t n = 0; n < spec.num_layers; ++n) add(layer_tensors(spec, n));
  return model;
}

// As F32, without a tokenizer.
inline void save_backbone(const ReferenceBackbone<double>& model, const std::string& path) {
  TensorArchiveWriter writer;
  writer.set_metadata(kBackboneKey, to_json(model.spec));
  std::vector<std::vector<float>> numbers;
  numbers.reserve(model.tensors.size());
  for (const auto& [name, values] : model.tensors) {
    numbers.emplace_back(values.begin(), values.end());
    const bool is_vector = name.ends_with(".weight") || name.ends_with(".bias");
    std::size_t cols = model.spec.model_width;
    if (name.ends_with(".output")) cols = model.spec.query_width();
    if (name.ends_with(".down")) cols = model.spec.hidden_width;
    std::vector<std::size_t> shape = {values.size()};
    if (!is_vector) shape = {values.size() / cols, cols};
    writer.add(name, shape, std::span<const float>(numbers.back()));
  }
  writer.save(path);
}

}  // namespace semfuse
