// The model as it is asked, with guidance and its own heads: what a request gets that names no other source.
#pragma once

#include "generation/logit_source.h"

namespace semfuse {

// What is asked, taken further by GenerationRequest::guidance, or by one weight a knob: p · Π (p_k / p0)^(w_k - 1),
// with p as asked, p_k as the knobs of one weight are asked alone and p0 with nothing asked. Then knobs that heads of
// the model turn tilt that.
class UsualSource : public LogitSource {
 public:
  std::unique_ptr<TextState> open(const ReadModel& model, const GenerationRequest& request) const override;
};

// It lives for ever.
const LogitSource& usual_source();

}  // namespace semfuse
