// Which instruction set the kernels run with.
#pragma once

#include <string>

namespace semfuse {

// Its name in Highway: "AVX2", "AVX3", ... Results agree to rounding between instruction sets, not bit by bit.
std::string instruction_set();

}  // namespace semfuse
