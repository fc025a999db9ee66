// Small batches, models and weights for tests of the network.
#pragma once

#include <cstdint>
#include <vector>

#include "batching/batch.h"
#include "core/parameter_block.h"
#include "core/random.h"
#include "semfuse/language_model.h"

namespace semfuse {

// Sentences of the given lengths with random tokens, and random features in [0, 1] of which some are exactly 0 or 1.
inline Batch random_batch(const std::vector<std::size_t>& lengths, std::size_t vocab_size, std::size_t num_features,
                          std::uint64_t seed) {
  RandomStream random(seed, RandomPurpose::corpus_train);
  BatchPacker packer(num_features);
  for (const std::size_t length : lengths) {
    std::vector<TokenId> inputs, targets;
    std::vector<float> features;
    for (std::size_t t = 0; t < length; ++t) {
      inputs.push_back(static_cast<TokenId>(random.next_below(vocab_size)));
      targets.push_back(static_cast<TokenId>(random.next_below(vocab_size)));
      for (std::size_t f = 0; f < num_features; ++f) {
        const std::uint64_t kind = random.next_below(4);
        features.push_back(kind == 0 ? 0.0f : kind == 1 ? 1.0f : static_cast<float>(random.next_uniform()));
      }
    }
    packer.add(inputs, targets, features);
  }
  return packer.take();
}

// Cuts the batch anew, `sentences` at a time: many shards in a batch that a twin can afford.
inline void cut_shards(Batch& batch, std::size_t sentences) {
  batch.shards.clear();
  for (std::size_t s = 0; s < batch.num_sentences(); s += sentences) {
    const std::size_t end = std::min(s + sentences, batch.num_sentences());
    batch.shards.push_back({.index = batch.shards.size(),
                            .first_sentence = s,
                            .num_sentences = end - s,
                            .first_token = batch.first_token[s],
                            .num_tokens = batch.first_token[end] - batch.first_token[s]});
  }
}

// Every parameter random, biases and gains too, so that no gradient is 0 by accident of the initial values.
inline ParameterBlock random_weights(const ParameterLayout& layout, std::uint64_t seed) {
  ParameterBlock weights(layout);
  RandomStream random(seed, RandomPurpose::weights);
  for (const ParameterInfo& info : layout.entries()) {
    const bool gain = info.name.find("norm") != std::string::npos && info.name.ends_with(".weight");
    for (std::size_t i = 0; i < info.size; ++i) {
      weights.vector(info)[i] = static_cast<float>((gain ? 1.0 : 0.0) + 1.2 * (random.next_uniform() - 0.5));
    }
  }
  return weights;
}

}  // namespace semfuse
