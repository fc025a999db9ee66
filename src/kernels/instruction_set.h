// Which instruction set the kernels run with.
#pragma once

#include <string>
#include <string_view>

namespace semfuse {

// Its name in Highway: "AVX2", "AVX3", ... Results agree to rounding between instruction sets, not bit by bit.
std::string instruction_set();

// Makes them run with this one, as on a processor that has no better, so that different processors compute the same
// bits. Before anything is computed. Throws Error if this processor has it not, or the kernels were not compiled for
// it.
void use_instruction_set(std::string_view name);

}  // namespace semfuse
