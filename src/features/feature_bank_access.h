// What the library itself and its tests may do with a FeatureBank; the public header shows none of it.
#pragma once

#include "semfuse/feature_bank.h"

namespace semfuse {

class FeatureBankAccess {
 public:
  // The same bank with the attribute x itself wherever the given one has a degree of it.
  static FeatureBank ungraded(FeatureBank bank);
};

}  // namespace semfuse
