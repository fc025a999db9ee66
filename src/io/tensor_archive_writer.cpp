#include "io/tensor_archive_writer.h"

#include <fmt/format.h>

#include <bit>
#include <cassert>
#include <cstring>
#include <optional>
#include <utility>

#include "io/archive_checksum.h"
#include "io/file.h"
#include "io/json_writer.h"
#include "io/quoted_text.h"
#include "io/tensor_header.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian and used as it is");

// The writer of JSON would replace what is not, and names would no longer be found.
void require_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_character_length(text);
    if (length == 0) throw Error("a tensor's name or the metadata is not UTF-8; write it as UTF-8");
    text.remove_prefix(length);
  }
}

}  // namespace

void TensorArchiveWriter::set_metadata(std::string key, std::string value) {
  if (key == kChecksumKey) throw Error(fmt::format("metadata cannot be named {}; choose another name", kChecksumKey));
  metadata_.insert_or_assign(std::move(key), std::move(value));
}

void TensorArchiveWriter::add(std::string name, std::vector<std::size_t> shape, std::span<const float> values) {
  add(std::move(name), std::move(shape), DType::f32, std::as_bytes(values));
}

void TensorArchiveWriter::add(std::string name, std::vector<std::size_t> shape, std::span<const std::int32_t> values) {
  add(std::move(name), std::move(shape), DType::i32, std::as_bytes(values));
}

void TensorArchiveWriter::add(std::string name, std::vector<std::size_t> shape, DType dtype,
                              std::span<const std::byte> bytes) {
  declare(std::move(name), std::move(shape), dtype);
  assert(tensors_.back().end - tensors_.back().begin == bytes.size());
  pieces_.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void TensorArchiveWriter::add(std::string name, std::vector<std::size_t> shape, DType dtype, Producer produce) {
  declare(std::move(name), std::move(shape), dtype);
  producers_.emplace(pieces_.size(), std::move(produce));
  pieces_.emplace_back();
}

void TensorArchiveWriter::declare(std::string name, std::vector<std::size_t> shape, DType dtype) {
  std::size_t size = size_of(dtype);
  for (const std::size_t extent : shape) size *= extent;
  if (name == kMetadataKey) throw Error("a tensor cannot be named __metadata__; choose another name");
  if (!names_.insert(name).second) {
    throw Error(fmt::format("two tensors are named {}; rename one", quoted_text(name)));
  }
  const std::size_t begin = tensors_.empty() ? 0 : tensors_.back().end;
  tensors_.push_back({std::move(name), dtype, std::move(shape), begin, begin + size});
}

void TensorArchiveWriter::write(const ByteSink& sink) const {
  assert(!has_checksum_ || producers_.empty());
  sink(header());
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const auto producer = producers_.find(i);
    if (producer == producers_.end()) {
      sink(pieces_[i]);
      continue;
    }
    std::size_t size = 0;
    producer->second([&](std::string_view bytes) {
      size += bytes.size();
      sink(bytes);
    });
    if (size != tensors_[i].end - tensors_[i].begin) {
      throw Error(fmt::format("tensor {} has {} bytes instead of {}; write the file anew",
                              quoted_text(tensors_[i].name), size, tensors_[i].end - tensors_[i].begin));
    }
  }
}

std::string TensorArchiveWriter::header() const {
  std::string text = "{";
  const auto add_member = [&](const std::string& name, const Json& value) {
    require_utf8(name);
    text += fmt::format("{}{}:{}", text.size() > 1 ? "," : "", Json(name).dump(), value.dump());
  };
  std::map<std::string, std::string> metadata = metadata_;
  if (has_checksum_) metadata.emplace(kChecksumKey, kBlankChecksum);
  for (const auto& [key, value] : metadata) require_utf8(key), require_utf8(value);
  if (!metadata.empty()) add_member(kMetadataKey, metadata);
  for (const TensorInfo& tensor : tensors_) {
    add_member(tensor.name, {{"dtype", to_string(tensor.dtype)},
                             {"shape", tensor.shape},
                             {"data_offsets", Json::array({tensor.begin, tensor.end})}});
  }
  text += '}';
  text.append((kHeaderLengthBytes - text.size() % kHeaderLengthBytes) % kHeaderLengthBytes, ' ');
  const std::uint64_t size = text.size();
  std::string length(kHeaderLengthBytes, '\0');
  std::memcpy(length.data(), &size, kHeaderLengthBytes);
  std::string head = length + text;
  if (has_checksum_) {
    Crc32 checksum;
    checksum.add(head);
    for (const std::string_view piece : pieces_) checksum.add(piece);
    const std::optional<std::size_t> digits = find_checksum(head);
    if (!digits) throw Error(fmt::format("a metadata key ends in \"{}; choose another name", kChecksumKey));
    head.replace(*digits, kBlankChecksum.size(), checksum_text(checksum.value()));
  }
  return head;
}

std::string TensorArchiveWriter::encode() const {
  std::string bytes;
  write([&](std::string_view piece) { bytes += piece; });
  return bytes;
}

void TensorArchiveWriter::save(const std::filesystem::path& path, FileLayer& files) const {
  write_atomically_by(
      path, [&](const ByteSink& sink) { write(sink); }, files);
}

}  // namespace semfuse
