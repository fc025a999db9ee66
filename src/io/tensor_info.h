// What a tensor file says of a tensor: its name, element type, shape and place.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace semfuse {

// The element types of the format. Numbers are read and written as f32 and i32; the others are only listed.
enum class DType { f64, f32, f16, bf16, f8_e5m2, f8_e4m3, c64, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

// The name in the file's header, as "F32".
std::string_view to_string(DType dtype);

// The inverse of to_string; nothing for an unknown name.
std::optional<DType> dtype_from_string(std::string_view name);

// Bytes of one element.
std::size_t size_of(DType dtype);

struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::size_t> shape;  // Empty for a scalar.
  std::size_t begin = 0;           // Bytes from the start of the data, behind the header.
  std::size_t end = 0;

  // Number of elements; 1 for a scalar.
  std::size_t size() const { return (end - begin) / size_of(dtype); }
};

}  // namespace semfuse
