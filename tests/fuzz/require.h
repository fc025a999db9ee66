// A check that stops a fuzz target in every build, unlike an assert.
#pragma once

#include <cstdlib>

namespace semfuse {

inline void fuzz_require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace semfuse
