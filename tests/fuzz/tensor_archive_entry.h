// What the fuzzer does with bytes as a safetensors file; the unit tests replay it over the seed corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fuzz/require.h"
#include "io/tensor_archive.h"
#include "io/tensor_archive_writer.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are an archive. Only Error may escape the reader, in one line; what it accepts must write back and
// read the same.
inline bool fuzz_tensor_archive(std::span<const std::uint8_t> input) {
  const auto as_archive = [](auto bytes) {
    const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
    return TensorArchive::parse({first, first + bytes.size()}, "fuzz");
  };
  try {
    const TensorArchive archive = as_archive(input);
    TensorArchiveWriter writer;
    std::size_t num_bytes = 0;
    for (const auto& [key, value] : archive.metadata()) writer.set_metadata(key, value);
    for (const TensorInfo& tensor : archive.tensors()) {
      num_bytes += tensor.end - tensor.begin;
      if (tensor.dtype == DType::f32) writer.add(tensor.name, tensor.shape, archive.floats(tensor.name));
      if (tensor.dtype == DType::i32) writer.add(tensor.name, tensor.shape, archive.ints(tensor.name));
    }
    fuzz_require(num_bytes <= input.size());
    const std::string written = writer.encode();
    const TensorArchive again = as_archive(written);
    fuzz_require(again.metadata() == archive.metadata());
    for (const TensorInfo& tensor : again.tensors()) {
      fuzz_require(archive.find(tensor.name)->shape == tensor.shape);
      fuzz_require(archive.find(tensor.name)->dtype == tensor.dtype);
      fuzz_require(archive.find(tensor.name)->size() == tensor.size());
    }
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
