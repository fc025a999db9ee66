#include "io/mapped_archive.h"

namespace semfuse {

MappedArchive::MappedArchive(const std::filesystem::path& path)
    : file_(MappedFile::whole(path)), header_(parse_tensor_header(file(), path.string())) {
  for (std::size_t i = 0; i < tensors().size(); ++i) index_.emplace(tensors()[i].name, i);
}

const TensorInfo* MappedArchive::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors()[found->second];
}

std::span<const std::byte> MappedArchive::bytes(const TensorInfo& tensor) const {
  return file().subspan(header_.data_begin + tensor.begin, tensor.end - tensor.begin);
}

}  // namespace semfuse
