// The model as it is asked, with guidance: what a request gets that names no other source.
#pragma once

#include "generation/logit_source.h"

namespace semfuse {

// The model as asked and nothing else.
class ModelSource : public LogitSource {
 public:
  std::unique_ptr<TextState> open(const ReadModel& model, const GenerationRequest& request) const override;
};

// The same, taken further by GenerationRequest::guidance, or by one weight a knob: p · Π (p_k / p0)^(w_k - 1), with p
// as asked, p_k as the knobs of one weight are asked alone and p0 with nothing asked.
class GuidanceSource : public LogitSource {
 public:
  std::unique_ptr<TextState> open(const ReadModel& model, const GenerationRequest& request) const override;
};

// The one of the two that a request needs; it lives for ever.
const LogitSource& usual_source(const GenerationRequest& request);

}  // namespace semfuse
