// Runs a piece of a test once for each instruction set that the kernels were compiled for and this processor has.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "hwy/targets.h"

namespace semfuse {

// Calls body() with the kernels switched to each instruction set in turn, then switches back to the best one.
template <class Body>
void for_each_instruction_set(const Body& body) {
  const std::int64_t supported = hwy::SupportedTargets();
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    // Lower bits are better sets. The worse ones stay allowed, so that a set the kernels lack falls to the next.
    const std::int64_t allowed = supported & ~(target - 1);
    hwy::SetSupportedTargetsForTest(allowed);
    hwy::GetChosenTarget().Update(allowed);
    body();
    if (testing::Test::HasFatalFailure()) break;
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace semfuse
