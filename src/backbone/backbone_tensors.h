// Which tensors a pretrained model has, by our names, and their shapes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backbone/backbone_spec.h"
#include "core/storage_type.h"

namespace semfuse {

// A tensor where it lies: a matrix [rows, columns] of outputs by inputs, row after row, or a vector, which has one row.
// Does not own its bytes, which have no alignment.
struct StoredTensor {
  StorageType type = StorageType::f32;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::span<const std::byte> bytes;  // rows * row_bytes(type, columns)

  std::span<const std::byte> row(std::size_t index) const {
    const std::size_t size = row_bytes(type, columns);
    return bytes.subspan(index * size, size);
  }
};

// What a spec says of one tensor.
struct TensorNeed {
  std::string name;
  std::size_t rows = 0;
  std::size_t columns = 0;
  bool is_matrix = true;     // A vector is stored as f32.
  bool is_optional = false;  // Biases of a Llama.
};

// Those of layer `layer` ("layers.3.query", "layers.3.query.bias", ...), and those outside of the layers.
std::vector<TensorNeed> layer_tensors(const BackboneSpec& spec, std::size_t layer);
std::vector<TensorNeed> outer_tensors(const BackboneSpec& spec);

}  // namespace semfuse
