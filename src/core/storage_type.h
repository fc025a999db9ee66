// How the numbers of a weight matrix are stored: plain, or in blocks of a few bits each, as GGUF has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace semfuse {

// Blocks lie within a row and a row is whole blocks. q8_64 is llama2.c's: a row's int8 values, then a float for every
// 64 of them. The layouts are described in docs/file_formats.md.
enum class StorageType : std::uint8_t { f32, f16, bf16, q8_0, q4_0, q4_1, q4_k, q5_k, q6_k, q8_64 };

// "f32", "q4_k".
std::string_view to_string(StorageType type);
std::optional<StorageType> storage_type_from_string(std::string_view name);

bool is_plain(StorageType type);  // f32, f16, bf16.

// Values that are stored together: 1 if the type is plain.
std::size_t block_size(StorageType type);

// Of a row of so many values, which must be whole blocks, fewer than 2^32 of them.
std::size_t row_bytes(StorageType type, std::size_t columns);

// Bits that a value takes in a long row, rounded up.
std::size_t bits_a_value(StorageType type);

// The numbers of one row. `bytes` has row_bytes(type, row.size()) of them, with no alignment.
void decode_row(StorageType type, std::span<const std::byte> bytes, std::span<float> row);

// The inverse, rounding to the nearest that the type has; only of the plain types, q8_0, q4_0 and q4_1.
void encode_row(StorageType type, std::span<const float> row, std::span<std::byte> bytes);

}  // namespace semfuse
