#include <fmt/format.h>

#include "core/nearest_word.h"
#include "semfuse/error.h"
#include "semfuse/paper_controls.h"

namespace semfuse {

namespace {

constexpr SamplingOptions paper_sampling(double temperature, std::size_t top_k = 0) {
  return {.temperature = temperature, .top_k = top_k, .top_p = 0.9, .nucleus = Nucleus::paper};
}
constexpr RepetitionOptions kFusionPenalty = {.penalty = 1.5};
constexpr RepetitionOptions kBaselinePenalty = {.penalty = 2.5};

}  // namespace

const std::vector<GenerationPreset>& generation_presets() {
  static const std::vector<GenerationPreset> presets = {
      {.name = "paper-neutral", .sampling = paper_sampling(0.7), .repetition = kFusionPenalty, .controls = {}},
      {.name = "paper-positive",
       .sampling = paper_sampling(0.7),
       .repetition = kFusionPenalty,
       .controls = {.pos_high = 0.95, .str_high = 0.9}},
      {.name = "paper-negative",
       .sampling = paper_sampling(0.8),
       .repetition = kFusionPenalty,
       .controls = {.neg_high = 0.95, .str_med = 0.6}},
      {.name = "paper-negative-question",
       .sampling = paper_sampling(0.8),
       .repetition = kFusionPenalty,
       .controls = {.neg_high = 0.95, .str_med = 0.6, .is_question = 1.0}},
      {.name = "paper-baseline-fair",
       .sampling = paper_sampling(0.7, 20),
       .repetition = kBaselinePenalty,
       .controls = {}}};
  return presets;
}

const GenerationPreset& generation_preset(std::string_view name) {
  std::vector<std::string> names;
  for (const GenerationPreset& preset : generation_presets()) {
    if (preset.name == name) return preset;
    names.push_back(preset.name);
  }
  throw Error(
      fmt::format("unknown preset \"{}\"; presets are {}{}", name, fmt::join(names, ", "), did_you_mean(name, names)));
}

}  // namespace semfuse
