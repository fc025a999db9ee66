#include "kernels/instruction_set.h"

#include <hwy/targets.h>

#include <cstdint>

#include "semfuse/error.h"

namespace semfuse {

std::string instruction_set() {
  const std::int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(usable & -usable);  // The lowest bit is the best of them.
}

void use_instruction_set(std::string_view name) {
  std::string names;
  for (std::int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    if (name == hwy::TargetName(target)) {
      hwy::DisableTargets(target - 1);  // Lower bits are better ones.
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      return;
    }
    names += (names.empty() ? "" : ", ") + std::string(hwy::TargetName(target));
  }
  throw Error("no instruction set \"" + std::string(name) + "\"; this processor and program have " + names);
}

}  // namespace semfuse
