// Measures a model with an adapter on texts, each asked for what it is labelled with.
#pragma once

#include "backbone/backbone_network.h"
#include "semfuse/evaluation.h"

namespace semfuse {

// What a text's labels say, as a request row; all 0 if they say nothing.
std::vector<float> labelled_request(std::span<const Knob> knobs, const Dataset& dataset, std::size_t text);

// As evaluate(). Texts without a label do not count: without a request the model is its backbone. Bits a byte are known
// only if all texts count. Throws Error if none does.
Evaluation evaluate_adapted(const LanguageModel& model, const BackboneNetwork& network, const Dataset& dataset,
                            const EvaluationOptions& options);

}  // namespace semfuse
