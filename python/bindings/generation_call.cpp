#include "generation_call.h"

#include <nanobind/stl/string.h>

#include <memory>

#include "knob_settings.h"

namespace semfuse::python {
namespace nb = nanobind;

namespace {

void set_guidance(GenerationRequest& request, nb::handle guidance) {
  if (!nb::isinstance<nb::dict>(guidance)) {
    request.guidance = nb::cast<double>(guidance);
    return;
  }
  for (const auto [knob, weight] : nb::borrow<nb::dict>(guidance)) {
    request.knob_guidance.push_back({.knob = nb::cast<std::string>(knob), .weight = nb::cast<double>(weight)});
  }
}

}  // namespace

GenerationRequest request_of(const ModelHandle& model, const GenerationCall& call) {
  GenerationRequest request;
  request.knobs = knob_settings(model.model().options().knobs, call.knobs);
  set_guidance(request, call.guidance);
  request.calibrated = call.calibrated;
  request.seed = call.seed;
  request.sampling.temperature = call.temperature;
  request.sampling.top_p = call.top_p;
  request.sampling.top_k = call.top_k;
  request.max_tokens = call.max_tokens;
  request.repetition.penalty = call.repetition_penalty;
  if (call.grammar != nullptr) request.grammar = std::make_shared<const CompiledGrammar>(*call.grammar);
  request.explain = call.explain;
  return request;
}

}  // namespace semfuse::python
