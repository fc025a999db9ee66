// How the words of an open vocabulary share the probability that training gave to those it showed.
#pragma once

#include <vector>

#include "semfuse/feature_bank.h"

namespace semfuse {

// What is added to the logit of each entry, so that words which training did not show take a part of their kind's
// probability instead of adding to it: ln(shown words of the kind / all words of the kind). A kind is the words with
// the same yes-or-no features and the same attributes above 0. One that training did not show counts in equal parts for
// the shown kinds that have its yes-or-no features; if there are none, its words have together what one word has.
// `ungraded` are the rows of FeatureBankAccess::ungraded(); special entries have 0.
std::vector<float> class_mass_offsets(const FeatureMatrix& ungraded, const std::vector<bool>& shown);

}  // namespace semfuse
