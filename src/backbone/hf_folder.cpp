#include "backbone/hf_folder.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

#include "io/file.h"
#include "io/json.h"
#include "io/quoted_text.h"
#include "io/tensor_header.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMaxJson = std::size_t{64} << 20;
constexpr const char* kIndex = "model.safetensors.index.json";

// A tensor of one of the files.
struct Source {
  TensorInfo info;
  std::span<const std::byte> bytes;
  std::string file;
};

constexpr std::array<NamePair, 3> kLlamaOuter = {{{"model.embed_tokens.weight", "embedding"},
                                                  {"model.norm.weight", "final_norm.weight"},
                                                  {"lm_head.weight", "head"}}};
constexpr std::array<NamePair, 9> kLlamaLayer = {{{"input_layernorm", "attention_norm"},
                                                  {"self_attn.q_proj", "query"},
                                                  {"self_attn.k_proj", "key"},
                                                  {"self_attn.v_proj", "value"},
                                                  {"self_attn.o_proj", "output"},
                                                  {"post_attention_layernorm", "hidden_norm"},
                                                  {"mlp.gate_proj", "gate"},
                                                  {"mlp.up_proj", "up"},
                                                  {"mlp.down_proj", "down"}}};
constexpr std::array<NamePair, 5> kGpt2Outer = {{{"wte.weight", "embedding"},
                                                 {"wpe.weight", "positions"},
                                                 {"ln_f.weight", "final_norm.weight"},
                                                 {"ln_f.bias", "final_norm.bias"},
                                                 {"lm_head.weight", "head"}}};
constexpr std::array<NamePair, 6> kGpt2Layer = {{{"ln_1", "attention_norm"},
                                                 {"attn.c_attn", "query"},  // And key and value.
                                                 {"attn.c_proj", "output"},
                                                 {"ln_2", "hidden_norm"},
                                                 {"mlp.c_fc", "up"},
                                                 {"mlp.c_proj", "down"}}};

class FolderReader {
 public:
  FolderReader(ForeignModel& model, std::string origin)
      : model_(model),
        spec_(model.spec),
        is_llama_(model.spec.family == BackboneFamily::llama),
        origin_(std::move(origin)) {}

  void read(std::string_view name, const Source& source) {
    std::string_view rest = name;
    if (!is_llama_ && rest.starts_with("transformer.")) rest.remove_prefix(12);
    if (is_ignored(rest)) return;
    if (is_llama_ ? read_outer(kLlamaOuter, rest, source) : read_outer(kGpt2Outer, rest, source)) return;
    const std::string_view prefix = is_llama_ ? "model.layers." : "h.";
    const std::size_t dot = rest.starts_with(prefix) ? rest.find('.', prefix.size()) : rest.npos;
    const std::size_t last = rest.rfind('.');
    if (dot != rest.npos && last > dot) {
      const std::string layer(rest.substr(prefix.size(), dot - prefix.size()));
      const std::string_view part = rest.substr(dot + 1, last - dot - 1);
      const std::string_view kind = rest.substr(last + 1);
      if (kind == "weight" || kind == "bias") {
        if (is_llama_ ? read_layer(kLlamaLayer, layer, part, kind, source)
                      : read_layer(kGpt2Layer, layer, part, kind, source))
          return;
      }
    }
    fail(fmt::format("tensor {} is not known", quoted_text(name)), "Llama and GPT-2 of the usual kind can be read");
  }

 private:
  [[noreturn]] void fail(std::string_view what, std::string_view next) const {
    throw Error(fmt::format("{}: {}; {}", origin_, what, next));
  }

  // Buffers that older versions saved, and a head that is the embedding.
  bool is_ignored(std::string_view name) const {
    if (is_llama_) return name.ends_with("rotary_emb.inv_freq") || (spec_.tied && name == "lm_head.weight");
    return (name.starts_with("h.") && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"))) ||
           (spec_.tied && name == "lm_head.weight");
  }

  ForeignTensor tensor_of(const Source& source) const {
    ForeignTensor tensor;
    const std::vector<std::size_t>& shape = source.info.shape;
    if (shape.empty() || shape.size() > 2)
      fail(fmt::format("tensor {} has {} dimensions", quoted_text(source.info.name), shape.size()),
           "one or two can be read");
    tensor.is_matrix = shape.size() == 2;
    tensor.rows = tensor.is_matrix ? shape[0] : 1;
    tensor.columns = shape.back();
    tensor.bytes = source.bytes;
    switch (source.info.dtype) {
      case DType::f32:
        tensor.type = StorageType::f32;
        break;
      case DType::f16:
        tensor.type = StorageType::f16;
        break;
      case DType::bf16:
        tensor.type = StorageType::bf16;
        break;
      default:
        fail(fmt::format("tensor {} in {} is {}", quoted_text(source.info.name), source.file,
                         to_string(source.info.dtype)),
             "F32, F16 and BF16 can be read");
    }
    return tensor;
  }

  template <std::size_t kSize>
  bool read_outer(const std::array<NamePair, kSize>& names, std::string_view name, const Source& source) {
    for (const NamePair& pair : names) {
      if (pair.theirs != name) continue;
      ForeignTensor tensor = tensor_of(source);
      tensor.name = pair.ours;
      model_.tensors.push_back(std::move(tensor));
      return true;
    }
    return false;
  }

  template <std::size_t kSize>
  bool read_layer(const std::array<NamePair, kSize>& names, const std::string& layer, std::string_view part,
                  std::string_view kind, const Source& source) {
    for (const NamePair& pair : names) {
      if (pair.theirs != part) continue;
      const bool is_norm = pair.ours.ends_with("_norm");
      const std::string suffix = is_norm || kind == "bias" ? fmt::format(".{}", kind) : "";
      const auto name = [&](std::string_view ours) { return fmt::format("layers.{}.{}{}", layer, ours, suffix); };
      ForeignTensor tensor = tensor_of(source);
      // Conv1D has [inputs, outputs].
      if (!is_llama_ && tensor.is_matrix) {
        std::swap(tensor.rows, tensor.columns);
        tensor.is_transposed = true;
        tensor.stride = tensor.rows;
      }
      if (pair.theirs == "attn.c_attn") {
        add_thirds(tensor, name);
      } else {
        tensor.name = name(pair.ours);
        model_.tensors.push_back(std::move(tensor));
      }
      return true;
    }
    return false;
  }

  // Queries, keys and values are the outputs of one map, one after the other.
  template <class Name>
  void add_thirds(const ForeignTensor& whole, const Name& name) {
    const std::size_t size = whole.is_matrix ? whole.rows : whole.columns;
    if (size % 3 != 0) fail(fmt::format("{} outputs of attn.c_attn are no three parts", size), "fetch the file again");
    std::size_t part = 0;
    for (const char* ours : {"query", "key", "value"}) {
      ForeignTensor tensor = whole;
      tensor.name = name(ours);
      if (whole.is_matrix) {
        tensor.rows = size / 3;
        tensor.first = part * tensor.rows;
      } else {
        tensor.columns = size / 3;
        const std::size_t bytes = row_bytes(whole.type, tensor.columns);
        tensor.bytes = whole.bytes.subspan(part * bytes, bytes);
      }
      model_.tensors.push_back(std::move(tensor));
      ++part;
    }
  }

  ForeignModel& model_;
  const BackboneSpec& spec_;
  bool is_llama_;
  std::string origin_;
};

void map_file(ForeignModel& model, const fs::path& path, std::map<std::string, Source>& sources) {
  const auto file = std::make_shared<const MappedFile>(MappedFile::whole(path));
  model.files.push_back(file);
  const std::span<const std::byte> bytes = file->as<std::byte>();
  const TensorHeader header = parse_tensor_header(bytes, path.string());
  for (const TensorInfo& info : header.tensors) {
    const std::span<const std::byte> data = bytes.subspan(header.data_begin + info.begin, info.end - info.begin);
    if (!sources.emplace(info.name, Source{info, data, path.filename().string()}).second) {
      throw Error(fmt::format("{}: tensor {} is in another file too; fetch the model again", path.string(),
                              quoted_text(info.name)));
    }
  }
}

}  // namespace

std::vector<std::string> parse_hf_index(std::string_view text, std::string_view origin) {
  const json index = parse_json(text, origin, 4);
  const auto fail = [&](std::string_view what) {
    throw Error(fmt::format("{}: {}; fetch the file again", origin, what));
  };
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (map == index.end() || !map->is_object() || map->empty()) fail("has no weight_map");
  std::set<std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string()) fail(fmt::format("the file of {} is not text", quoted_text(tensor)));
    const auto& name = file.get_ref<const std::string&>();
    // A name in the folder: no way out of it.
    const bool is_name =
        name.ends_with(".safetensors") && name.find_first_of("/\\") == name.npos && !name.starts_with('.');
    if (!is_name) fail(fmt::format("{} is no name of a safetensors file in the folder", quoted_text(name)));
    files.insert(name);
  }
  return {files.begin(), files.end()};
}

ForeignModel open_hf_folder(const fs::path& folder) {
  const fs::path config = folder / "config.json";
  std::error_code ignored;
  if (!fs::exists(config, ignored)) {
    throw Error(fmt::format("{}: has no config.json; give a Hugging Face folder, a GGUF file, or a model of llama2.c",
                            folder.string()));
  }
  ForeignModel model;
  model.kind = "Hugging Face folder";
  model.spec = parse_hf_config(read_text(config, kMaxJson), config.string());
  std::map<std::string, Source> sources;
  if (fs::exists(folder / "model.safetensors", ignored)) {
    map_file(model, folder / "model.safetensors", sources);
  } else if (fs::exists(folder / kIndex, ignored)) {
    const std::string origin = (folder / kIndex).string();
    const std::string text = read_text(folder / kIndex, kMaxJson);
    for (const std::string& name : parse_hf_index(text, origin)) {
      if (!fs::exists(folder / name, ignored))
        throw Error(fmt::format("{}: names {}, which is not there; fetch it too", origin, name));
      map_file(model, folder / name, sources);
    }
    // Every tensor must be where the index says, and nothing else in the files.
    const json index = parse_json(text, origin, 4);
    for (const auto& [tensor, file] : index["weight_map"].items()) {
      const auto found = sources.find(tensor);
      if (found == sources.end() || found->second.file != file) {
        throw Error(fmt::format("{}: tensor {} is not in {}; fetch the model again", origin, quoted_text(tensor),
                                quoted_text(file.get<std::string>())));
      }
    }
  } else {
    const bool has_pickle = fs::exists(folder / "pytorch_model.bin", ignored);
    throw Error(fmt::format("{}: has no model.safetensors{}; convert it to safetensors", folder.string(),
                            has_pickle ? ", and pytorch_model.bin (a pickle) cannot be read" : ""));
  }
  FolderReader reader(model, folder.string());
  for (const auto& [name, source] : sources) reader.read(name, source);
  return model;
}

}  // namespace semfuse
