#include "backbone/imported_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "io/json.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void refuse(const std::string& origin, std::string_view what) {
  throw Error(fmt::format("{}: {}; import the model anew", origin, what));
}

fs::path file_of(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? path / "model.safetensors" : path;
}

const std::string* metadata_of(const MappedArchive& archive, const char* key) {
  const auto found = archive.metadata().find(key);
  return found == archive.metadata().end() ? nullptr : &found->second;
}

BackboneSpec spec_of(const MappedArchive& archive, const std::string& origin) {
  const std::string* text = metadata_of(archive, kBackboneKey);
  if (text == nullptr) {
    throw Error(
        fmt::format("{}: is no imported model; `semfuse import` makes one of it if it is a Llama or GPT-2", origin));
  }
  return parse_backbone_spec(*text, fmt::format("{}: {}", origin, kBackboneKey));
}

struct BlockTensor {
  StorageType type;
  std::array<std::size_t, 2> shape;
};

std::map<std::string, BlockTensor, std::less<>> parse_types(const std::string* text, const std::string& origin) {
  std::map<std::string, BlockTensor, std::less<>> types;
  if (text == nullptr) return types;
  const json object = parse_json(*text, fmt::format("{}: {}", origin, kTypesKey), 3);
  const auto fail = [&](const std::string& name) {
    refuse(origin, fmt::format("{} says of {} no type and shape that are known", kTypesKey, quoted_text(name)));
  };
  if (!object.is_object()) refuse(origin, fmt::format("{} is no object", kTypesKey));
  for (const auto& [name, value] : object.items()) {
    if (!value.is_object() || value.size() != 2 || !value.contains("type") || !value.contains("shape")) fail(name);
    const json& shape = value["shape"];
    const auto is_size = [](const json& size) {
      return size.is_number_unsigned() && size.get<std::uint64_t>() < 1U << 31;
    };
    if (!value["type"].is_string() || !shape.is_array() || shape.size() != 2 || !is_size(shape[0]) ||
        !is_size(shape[1])) {
      fail(name);
    }
    const auto type = storage_type_from_string(value["type"].get_ref<const std::string&>());
    if (!type || is_plain(*type) || shape[1].get<std::size_t>() % block_size(*type) != 0) fail(name);
    types.emplace(name, BlockTensor{*type, {shape[0].get<std::size_t>(), shape[1].get<std::size_t>()}});
  }
  return types;
}

std::optional<StorageType> plain_type(DType dtype) {
  if (dtype == DType::f32) return StorageType::f32;
  if (dtype == DType::f16) return StorageType::f16;
  if (dtype == DType::bf16) return StorageType::bf16;
  return std::nullopt;
}

}  // namespace

ImportedModel::ImportedModel(const fs::path& path)
    : origin_(file_of(path).string()), archive_(file_of(path)), spec_(spec_of(archive_, origin_)) {
  read_tensors();
  if (const std::string* text = metadata_of(archive_, kTokenizerKey)) {
    tokenizer_ = Tokenizer::parse(*text, fmt::format("{}: {}", origin_, kTokenizerKey));
    if (tokenizer_->size() > spec_.vocab_size) {
      refuse(origin_,
             fmt::format("the tokenizer has {} entries, but the model knows {}", tokenizer_->size(), spec_.vocab_size));
    }
  }
}

bool ImportedModel::is_at(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(file_of(path), ignored)) return false;  // A pipe is left to whoever reads it.
  try {
    return metadata_of(MappedArchive(file_of(path)), kBackboneKey) != nullptr;
  } catch (const Error&) {
    return false;
  }
}

const StoredTensor* ImportedModel::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

const StoredTensor& ImportedModel::tensor(std::string_view name) const {
  const StoredTensor* found = find(name);
  if (found == nullptr) refuse(origin_, fmt::format("no tensor {}", quoted_text(name)));
  return *found;
}

void ImportedModel::read_tensors() {
  const auto types = parse_types(metadata_of(archive_, kTypesKey), origin_);
  const auto add = [&](const TensorNeed& need) {
    const TensorInfo* info = archive_.find(need.name);
    if (info == nullptr && need.is_optional) return;
    if (info == nullptr) refuse(origin_, fmt::format("no tensor {}", quoted_text(need.name)));
    const auto block = types.find(need.name);
    std::vector<std::size_t> shape = {need.rows, need.columns};
    if (!need.is_matrix) shape.erase(shape.begin());
    StoredTensor tensor = {.type = StorageType::f32, .rows = need.rows, .columns = need.columns, .bytes = {}};
    if (block != types.end()) {
      tensor.type = block->second.type;
      const bool fits = need.is_matrix && std::equal(shape.begin(), shape.end(), block->second.shape.begin());
      if (!fits)
        refuse(origin_,
               fmt::format("tensor {} has another shape than {}", quoted_text(need.name), fmt::join(shape, " x ")));
      shape.back() = row_bytes(tensor.type, need.columns);
    } else if (const auto type = plain_type(info->dtype)) {
      tensor.type = *type;
    }
    const DType dtype = block != types.end() ? DType::u8 : info->dtype;
    if (info->dtype != dtype || (block == types.end() && !plain_type(dtype)) ||
        (!need.is_matrix && dtype != DType::f32)) {
      refuse(origin_, fmt::format("tensor {} is {}", quoted_text(need.name), to_string(info->dtype)));
    }
    if (info->shape != shape) {
      refuse(origin_, fmt::format("tensor {} is {}, not {}", quoted_text(need.name), fmt::join(info->shape, " x "),
                                  fmt::join(shape, " x ")));
    }
    tensor.bytes = archive_.bytes(*info);
    tensors_.emplace(need.name, tensor);
  };
  // A spec alone must not make this long.
  if (spec_.num_layers > archive_.tensors().size())
    refuse(origin_, fmt::format("no tensors for {} layers", spec_.num_layers));
  for (const TensorNeed& need : outer_tensors(spec_)) add(need);
  for (std::size_t layer = 0; layer < spec_.num_layers; ++layer) {
    for (const TensorNeed& need : layer_tensors(spec_, layer)) add(need);
  }
  for (const TensorInfo& info : archive_.tensors()) {
    if (!tensors_.contains(info.name)) refuse(origin_, fmt::format("tensor {} is of no use", quoted_text(info.name)));
  }
  for (const auto& [name, type] : types) {
    if (!tensors_.contains(name))
      refuse(origin_, fmt::format("{} names {}, which is not there", kTypesKey, quoted_text(name)));
  }
}

}  // namespace semfuse
