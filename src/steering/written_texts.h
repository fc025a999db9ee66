// Texts that a model writes while a head steers it, with what a judge makes of them: what the head meets when it is
// used, which texts of people seldom are.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "semfuse/dataset.h"
#include "semfuse/language_model.h"
#include "semfuse/steering.h"
#include "steering/other_knobs.h"

namespace semfuse {

struct WrittenTexts {
  std::shared_ptr<const Dataset> dataset;
  std::vector<float> labels;  // In [0, 1], by the judge, of each text.
  std::vector<std::vector<KnobSetting>> asked;
  // Of each text how many of its positions the head had a part in what comes after the next token: the label says
  // nothing of how the model alone would go on there.
  std::vector<std::size_t> silent;
};

// About `count` texts, both labels wanted equally often, at strengths from 1 to 8. Three in four go on from the first
// words of a text of people that has the opposite label; `labels` are those of `dataset`, NaN: none. Texts end
// after 64 tokens. Without a head the model writes all of them alone, from their beginning. Each is asked for what
// `others` visits, unless that is null. A function of the arguments and the
// seed. Throws Error if the judge does not say a number from 0 to 1 of each text.
WrittenTexts written_texts(const LanguageModel& model, const Dataset& dataset, std::span<const float> labels,
                           const SteeringHead* head, const TextJudge& judge, const OtherKnobs* others,
                           std::size_t count, std::uint64_t seed, std::size_t threads);

}  // namespace semfuse
