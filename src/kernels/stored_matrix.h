// A weight matrix as it is stored, wherever that is.
#pragma once

#include <cstddef>

#include "core/storage_type.h"

namespace semfuse {

// [rows, cols], row after row. Does not own the bytes, which need no alignment.
struct StoredMatrix {
  StorageType type = StorageType::f32;
  const std::byte* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;

  std::size_t row_size() const { return row_bytes(type, cols); }
  const std::byte* row(std::size_t i) const { return data + i * row_size(); }
  // Row i as floats, out [cols].
  void decode(std::size_t i, float* out) const { decode_row(type, {row(i), row_size()}, {out, cols}); }
};

}  // namespace semfuse
