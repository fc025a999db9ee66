#include "io/tensor_info.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace semfuse {
namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  std::size_t size;
};

constexpr std::array kDTypes = {
    DTypeRow{DType::f64, "F64", 8},      DTypeRow{DType::f32, "F32", 4},         DTypeRow{DType::f16, "F16", 2},
    DTypeRow{DType::bf16, "BF16", 2},    DTypeRow{DType::f8_e5m2, "F8_E5M2", 1}, DTypeRow{DType::f8_e4m3, "F8_E4M3", 1},
    DTypeRow{DType::c64, "C64", 8},      DTypeRow{DType::i64, "I64", 8},         DTypeRow{DType::i32, "I32", 4},
    DTypeRow{DType::i16, "I16", 2},      DTypeRow{DType::i8, "I8", 1},           DTypeRow{DType::u64, "U64", 8},
    DTypeRow{DType::u32, "U32", 4},      DTypeRow{DType::u16, "U16", 2},         DTypeRow{DType::u8, "U8", 1},
    DTypeRow{DType::boolean, "BOOL", 1},
};

const DTypeRow& row_of(DType dtype) {
  const auto* row = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeRow& r) { return r.dtype == dtype; });
  assert(row != kDTypes.end());
  return *row;
}

}  // namespace

std::string_view to_string(DType dtype) {
  return row_of(dtype).name;
}

std::size_t size_of(DType dtype) {
  return row_of(dtype).size;
}

std::optional<DType> dtype_from_string(std::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace semfuse
