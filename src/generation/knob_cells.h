// What tokens say of the knobs that are set, so that no sampler changes how often a knob's values come.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "semfuse/generator.h"

namespace semfuse {

// Tokens by what they say. Those of a cell say the same of every knob that is set: the sign of a probability, the value
// of a scalar (to a hundredth of its range), the label of a distribution. Cells that speak of a common knob are of one
// group.
struct TokenCells {
  static constexpr std::uint32_t kSilent = 0;

  std::vector<std::uint32_t> cell;   // By token; kSilent if it says nothing.
  std::vector<std::uint32_t> group;  // By cell, from 0; that of kSilent means nothing.
  std::size_t num_groups = 0;
};

// The cells of a model's tokens. May be used from several threads at once.
class KnobCells {
 public:
  // `model` must outlive it and keep its words.
  explicit KnobCells(const LanguageModel& model) : model_(model) {}

  // For settings of the model's knobs. Null if no word says anything of them. Valid as long as the object.
  const TokenCells* of(std::span<const KnobSetting> settings) const;

 private:
  using Stated = std::uint32_t;  // A bit for each knob.

  std::optional<TokenCells> cells_of(Stated stated) const;

  const LanguageModel& model_;
  mutable std::mutex mutex_;
  mutable std::map<Stated, std::optional<TokenCells>> cells_;
};

// Whether sampling_distribution() would change how often the cells come, and the one below helps. Greedy choice draws
// nothing, so it can keep no share.
bool changes_shares(const SamplingOptions& options);

// The distribution that a sampler draws from if it must keep the shares of cells; by id. Temperature, top-k and nucleus
// act as usual on how probable each group is beside the other groups and the silent tokens. Inside a group the cells
// have the shares of the softmax, whatever the sampler, and inside a cell the sampler acts on its tokens alone. Empty
// if every logit is -infinity; not a number if logits are not.
std::vector<TokenProbability> share_keeping_distribution(std::span<const double> logits, const SamplingOptions& options,
                                                         const TokenCells& cells);

}  // namespace semfuse
