#include "backbone/foreign_model.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "backbone/gguf_model.h"
#include "backbone/hf_folder.h"
#include "backbone/imported_model.h"
#include "backbone/llama2c_file.h"
#include "backbone/tokenizer_files.h"
#include "io/file.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSupported =
    "give a Hugging Face folder (config.json, safetensors), a GGUF file, or a model of llama2.c";

bool begins_with(std::span<const std::byte> file, std::string_view magic) {
  return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
}

// What people bring and cannot be read, by how it begins.
void refuse_known_others(std::span<const std::byte> file, const std::string& origin) {
  struct Other {
    std::string_view magic;
    const char* name;
  };
  using namespace std::string_view_literals;
  constexpr std::array<Other, 7> kOthers = {
      {{"PK\3\4"sv, "a zip file (as PyTorch's .pt and .bin are, or NumPy's .npz)"},
       {"\x80\2"sv, "a Python pickle (as PyTorch's old .bin are)"},
       {"\x89HDF"sv, "an HDF5 file (as Keras has)"},
       {"lmgg"sv, "a GGML file, older than GGUF"},
       {"tjgg"sv, "a GGJT file, older than GGUF"},
       {"fmgg"sv, "a GGMF file, older than GGUF"},
       {"FUGG"sv, "a big-endian GGUF file"}}};
  for (const Other& other : kOthers) {
    if (begins_with(file, other.magic)) throw Error(fmt::format("{}: is {}; {}", origin, other.name, kSupported));
  }
}

ForeignModel open_file(const fs::path& path, bool with_tokenizer) {
  const std::string origin = path.string();
  const auto file = std::make_shared<const MappedFile>(MappedFile::whole(path));
  const std::span<const std::byte> bytes = file->as<std::byte>();
  ForeignModel model;
  if (begins_with(bytes, "GGUF")) {
    model = parse_gguf_model(bytes, origin, with_tokenizer);
  } else if (has_llama2c_magic(bytes)) {
    model = parse_llama2c(bytes, origin);
  } else {
    refuse_known_others(bytes, origin);
    try {
      model = parse_llama2c(bytes, origin);
    } catch (const Error& error) {
      throw Error(fmt::format(
          "{}: is no model that can be read (as a llama2.c file: {}); {}", origin,
          std::string_view(error.what()).substr(std::min(origin.size() + 2, std::strlen(error.what()))), kSupported));
    }
  }
  model.files.push_back(file);
  return model;
}

}  // namespace

bool looks_foreign(const fs::path& path) {
  constexpr std::size_t kMaxConfig = std::size_t{1} << 20;
  std::error_code ignored;
  try {
    if (fs::is_directory(path, ignored)) {
      const fs::path config = path / "config.json";
      return fs::exists(config, ignored) && read_text(config, kMaxConfig).find("\"model_type\"") != std::string::npos &&
             !ImportedModel::is_at(path);
    }
    if (!fs::is_regular_file(path, ignored)) return false;
    const MappedFile file = MappedFile::whole(path);
    const std::span<const std::byte> bytes = file.as<std::byte>();
    if (begins_with(bytes, "GGUF") || has_llama2c_magic(bytes)) return true;
    parse_llama2c(bytes, "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

ForeignModel open_foreign_model(const fs::path& path, const fs::path& tokenizer) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  if (!is_folder && !fs::exists(path, ignored))
    throw Error(fmt::format("{}: is not there; check the path", path.string()));
  if (ImportedModel::is_at(path)) throw Error(fmt::format("{}: is imported already; use it as it is", path.string()));
  const bool in_folder =
      is_folder || (path.extension() == ".safetensors" && fs::exists(path.parent_path() / "config.json", ignored));
  const fs::path folder = is_folder ? path : path.parent_path();
  ForeignModel model = in_folder ? open_hf_folder(folder) : open_file(path, tokenizer.empty());
  model.spec.source = fmt::format("{} {}", model.kind, (is_folder ? path : path.filename()).filename().string());
  if (!tokenizer.empty()) {
    use_tokenizer(model, tokenizer);
  } else if (!model.tokenizer) {
    find_tokenizer(model, is_folder ? path : path.parent_path());
  }
  return model;
}

}  // namespace semfuse
