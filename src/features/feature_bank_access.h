// What the library itself and its tests may do with a FeatureBank; the public header shows none of it.
#pragma once

#include "semfuse/feature_bank.h"

namespace semfuse {

class FeatureBankAccess {
 public:
  // The same bank with the attribute x itself wherever the given one has a degree of it.
  static FeatureBank ungraded(FeatureBank bank);

  // A bank of natural text, with the first of its lexicons.
  static FeatureBank of(std::shared_ptr<const NaturalBank> natural);
  // Null unless the bank is one.
  static const NaturalBank* natural(const FeatureBank& bank) { return bank.natural_.get(); }
  static const std::shared_ptr<const NaturalBank>& shared_natural(const FeatureBank& bank) { return bank.natural_; }
};

}  // namespace semfuse
