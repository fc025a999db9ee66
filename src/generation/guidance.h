// Guidance: how far past their setting knobs are turned.
#pragma once

#include <cstddef>
#include <span>

namespace semfuse {

// Beyond it a setting is only what is already most probable.
constexpr double kMostGuidance = 20.0;

// Turns the logits of a model as asked into those of guidance w, p0 · (p1 / p0)^w, with p1 as asked and p0 with nothing
// asked. Above 1 only tokens that are plausible as asked (a tenth of the most probable one's probability) share what
// they had together in that way; no other token gets more than it had as asked, since ratios of small probabilities are
// noise: so guidance leaves the language no more often than the model as asked. The spans are of the same tokens;
// `most` is the logit, as asked, of the most probable one that may be drawn.
void guide(std::span<const float> unasked, std::span<float> asked, double guidance, float most);

// Logits of a model that is asked for some of the knobs, and how far past their settings these are turned.
struct GuidedPart {
  std::span<const float> logits;
  double weight;
};

// The same for knobs of different weights: `asked`, with all of them asked for together, becomes p · Π (p_k / p0)^(w_k
// - 1), with p as asked and p_k for the knobs of one weight alone, so a weight of 1 needs no part. Together they are
// asked for as they were trained; what one alone brings with it counts only for what goes past its setting. `most` is
// as above.
void guide(std::span<const float> unasked, std::span<float> asked, std::span<const GuidedPart> parts, float most);

}  // namespace semfuse
