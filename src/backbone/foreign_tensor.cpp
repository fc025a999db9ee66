#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>

#include "backbone/foreign_model.h"
#include "io/sha256.h"

namespace semfuse {

StorageType ForeignTensor::lossless_type() const {
  if (group == 0) return is_matrix ? type : StorageType::f32;
  return group == block_size(StorageType::q8_64) && columns % group == 0 ? StorageType::q8_64 : StorageType::f32;
}

void ForeignTensor::read_rows(std::size_t row, std::size_t count, std::span<float> numbers) const {
  assert(numbers.size() == count * columns && row + count <= rows);
  if (group > 0) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::size_t place = row * columns + i;
      float scale;
      std::memcpy(&scale, scales.data() + place / group * sizeof(float), sizeof(float));
      numbers[i] = scale * static_cast<float>(static_cast<std::int8_t>(bytes[place]));
    }
  } else if (is_transposed) {
    // A line of the file has the numbers of all rows at one column.
    const std::size_t size = row_bytes(type, 1);
    std::vector<float> line(count);
    for (std::size_t c = 0; c < columns; ++c) {
      decode_row(type, bytes.subspan((c * stride + first + row) * size, count * size), line);
      for (std::size_t r = 0; r < count; ++r) numbers[r * columns + c] = line[r];
    }
  } else {
    const std::size_t size = row_bytes(type, columns);
    for (std::size_t r = 0; r < count; ++r) {
      decode_row(type, bytes.subspan((row + r) * size, size), numbers.subspan(r * columns, columns));
    }
  }
}

std::string ForeignModel::source_hash() const {
  Sha256 hash;
  for (const auto& file : files) hash.add(file->as<std::byte>());
  return hash.digest();
}

}  // namespace semfuse
