// What must hold of every foreign model that a reader accepted.
#pragma once

#include <cstddef>
#include <vector>

#include "backbone/model_import.h"
#include "fuzz/require.h"

namespace semfuse {

// Its tensors lie within the `size` bytes that it was read from, and can be read to their last row. Throws Error if it
// is not whole.
inline void require_model(const ForeignModel& model, std::size_t size) {
  check_tensors(model, "fuzz");
  std::size_t num_bytes = 0;
  std::vector<float> row;
  for (const ForeignTensor& tensor : model.tensors) {
    num_bytes += tensor.bytes.size();
    fuzz_require(tensor.columns <= 8 * size);
    row.resize(tensor.columns);
    tensor.read_rows(tensor.rows - 1, 1, row);
  }
  fuzz_require(num_bytes <= size);
  fuzz_require(parse_backbone_spec(to_json(model.spec), "again") == model.spec);
}

}  // namespace semfuse
