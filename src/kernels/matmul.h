// Matrix products on one thread. The order of every element's sum depends on the inner size alone, so that results do
// not depend on how rows are shared between threads.
//
// OpenBLAS was measured and left out (docs/architecture.md): it repacks the weights at each call, which small matrices
// do not pay back, and falls to an SSE kernel on processors younger than itself.
#pragma once

#include <cstddef>

#include "core/matrix_view.h"

namespace semfuse {

// A matrix [depth, cols] stored in column panels as matmul() reads it; columns are padded with zeros to whole panels.
// Does not own its numbers, which must be 64-byte aligned.
struct PackedMatrix {
  const float* data = nullptr;
  std::size_t depth = 0;
  std::size_t cols = 0;
};

// Floats that a packed [depth, cols] takes on this processor.
std::size_t packed_size(std::size_t depth, std::size_t cols);

// Packs b [depth, cols] into `packed`, which holds packed_size() floats.
void pack(ConstMatrix b, float* packed);
// Packs the transpose of b [cols, depth].
void pack_transposed(ConstMatrix b, float* packed);

// What happens to a product on its way to memory.
struct MatmulOptions {
  const float* bias = nullptr;  // [cols], added to every row.
  bool relu = false;            // Negative results become 0.
  bool accumulate = false;      // Add to what c holds, without relu.
};

// c [m, n] = a [m, k] · b [k, n]
void matmul(ConstMatrix a, const PackedMatrix& b, Matrix c, const MatmulOptions& options = {});

// c [m, n] = aᵀ · b for a [k, m] and b [k, n]: weight gradients, where k runs over tokens.
void matmul_transposed_a(ConstMatrix a, ConstMatrix b, Matrix c, bool accumulate = false);

}  // namespace semfuse
