// Guidance: how far past their setting knobs are turned.
#pragma once

#include <cstddef>
#include <functional>
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

// The same for knobs of different weights: `logits`, with nothing asked, become those of p0 · Π (p_k / p0)^w_k. As
// asked then means every weight 1, and where one is above 1 the same tokens are plausible; `may_stand` says which
// tokens may be drawn.
void guide(std::span<float> logits, std::span<const GuidedPart> parts,
           const std::function<bool(std::size_t)>& may_stand);

}  // namespace semfuse
