#include "kernels/instruction_set.h"

#include <hwy/targets.h>

#include <cstdint>

namespace semfuse {

std::string instruction_set() {
  const std::int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(usable & -usable);  // The lowest bit is the best of them.
}

}  // namespace semfuse
