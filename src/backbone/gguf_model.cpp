#include "backbone/gguf_model.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "backbone/gguf_tokenizer.h"
#include "io/quoted_text.h"

namespace semfuse {
namespace {

constexpr const char* kNext = "Llama and GPT-2 of the usual kind can be read";

class GgufSpecReader {
 public:
  explicit GgufSpecReader(const GgufFile& file) : file_(file) {}

  BackboneSpec read_spec() {
    const std::string_view family = file_.text("general.architecture").value_or("");
    if (family == "llama") {
      read_llama();
    } else if (family == "gpt2") {
      read_gpt2();
    } else {
      file_.fail(
          family.empty() ? "says no general.architecture" : fmt::format("has the architecture {}", quoted_text(family)),
          "llama and gpt2 can be read");
    }
    const GgufTensor* embedding = find_tensor("token_embd.weight");
    if (embedding == nullptr)
      file_.fail("has no token_embd.weight",
                 "a file with a vocabulary only is no model; its tokenizer can be used by --tokenizer");
    if (embedding->shape.size() == 2) spec_.vocab_size = embedding->shape[0];
    spec_.tied = find_tensor("output.weight") == nullptr;
    read_gguf_ids(file_, spec_);
    return spec_;
  }

 private:
  const GgufTensor* find_tensor(std::string_view name) const {
    for (const GgufTensor& tensor : file_.tensors()) {
      if (tensor.name == name) return &tensor;
    }
    return nullptr;
  }

  std::size_t size(std::string_view key) const {
    const std::string full = fmt::format("{}.{}", to_string(spec_.family), key);
    const auto value = file_.whole(full);
    if (!value) file_.fail(fmt::format("says no {}", full), "fetch the file again");
    return *value;
  }
  std::size_t size_or(std::string_view key, std::size_t otherwise) const {
    return file_.whole(fmt::format("{}.{}", to_string(spec_.family), key)).value_or(otherwise);
  }

  void read_sizes() {
    spec_.context = size("context_length");
    spec_.model_width = size("embedding_length");
    spec_.num_layers = size("block_count");
    spec_.hidden_width = size("feed_forward_length");
    spec_.num_heads = size("attention.head_count");
    spec_.num_key_heads = size_or("attention.head_count_kv", spec_.num_heads);
    if (spec_.num_heads == 0) file_.fail("has no heads", "fetch the file again");
    spec_.head_width = size_or("attention.key_length", spec_.model_width / spec_.num_heads);
    if (size_or("attention.value_length", spec_.head_width) != spec_.head_width) {
      file_.fail("has values of another width than keys", kNext);
    }
    if (size_or("expert_count", 0) != 0) file_.fail("is a mixture of experts (expert_count)", kNext);
  }

  void read_llama() {
    spec_.family = BackboneFamily::llama;
    read_sizes();
    spec_.norm_epsilon = file_.number("llama.attention.layer_norm_rms_epsilon").value_or(1e-5);
    spec_.rotary_base = file_.number("llama.rope.freq_base").value_or(10000.0);
    if (size_or("rope.dimension_count", spec_.head_width) != spec_.head_width) {
      file_.fail("turns a part of each head only (rope.dimension_count)", kNext);
    }
    const std::string_view scaling = file_.text("llama.rope.scaling.type").value_or("none");
    if (scaling != "none")
      file_.fail(fmt::format("has rope.scaling.type {}", quoted_text(scaling)), "none can be read");
    for (const char* key : {"llama.rope.scale_linear", "llama.rope.scaling.factor"}) {
      if (file_.number(key).value_or(1.0) != 1.0)
        file_.fail(fmt::format("has {}", key), "positions must not be scaled");
    }
    if (find_tensor("rope_freqs.weight") != nullptr) {
      file_.fail("has rope_freqs.weight (scaled rotary positions)", "positions must not be scaled");
    }
  }

  void read_gpt2() {
    spec_.family = BackboneFamily::gpt2;
    read_sizes();
    spec_.norm = BackboneNorm::layer;
    spec_.activation = BackboneActivation::gelu_tanh;
    spec_.positions = BackbonePositions::learned;
    spec_.norm_epsilon = file_.number("gpt2.attention.layer_norm_epsilon").value_or(1e-5);
  }

  const GgufFile& file_;
  BackboneSpec spec_;
};

constexpr std::array<NamePair, 5> kOuter = {{{"token_embd.weight", "embedding"},
                                             {"position_embd.weight", "positions"},
                                             {"output_norm.weight", "final_norm.weight"},
                                             {"output_norm.bias", "final_norm.bias"},
                                             {"output.weight", "head"}}};
constexpr std::array<NamePair, 9> kInLayers = {{{"attn_norm", "attention_norm"},
                                                {"attn_q", "query"},
                                                {"attn_k", "key"},
                                                {"attn_v", "value"},
                                                {"attn_output", "output"},
                                                {"ffn_norm", "hidden_norm"},
                                                {"ffn_gate", "gate"},
                                                {"ffn_up", "up"},
                                                {"ffn_down", "down"}}};

// "blk.3.attn_q.weight" is "layers.3.query"; empty if there is none of ours.
std::string our_name(std::string_view theirs) {
  for (const NamePair& pair : kOuter) {
    if (pair.theirs == theirs) return std::string(pair.ours);
  }
  constexpr std::string_view kBlock = "blk.";
  if (!theirs.starts_with(kBlock)) return {};
  theirs.remove_prefix(kBlock.size());
  const std::size_t dot = theirs.find('.');
  const std::size_t last = theirs.rfind('.');
  if (dot == theirs.npos || last <= dot) return {};
  const std::string_view layer = theirs.substr(0, dot);
  const std::string_view part = theirs.substr(dot + 1, last - dot - 1);
  const std::string_view kind = theirs.substr(last + 1);
  if (kind != "weight" && kind != "bias") return {};
  for (const NamePair& pair : kInLayers) {
    if (pair.theirs != part) continue;
    const bool is_norm = part.ends_with("_norm");
    return fmt::format("layers.{}.{}{}", layer, pair.ours, is_norm || kind == "bias" ? fmt::format(".{}", kind) : "");
  }
  return {};
}

ForeignTensor foreign_tensor(const GgufFile& file, const GgufTensor& tensor, std::string name) {
  const auto type = tensor.storage_type();
  if (!type) {
    file.fail(fmt::format("tensor {} is {}", quoted_text(tensor.name), gguf_type_name(tensor.type)),
              "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q4_K, Q5_K and Q6_K can be read");
  }
  if (tensor.shape.size() > 2)
    file.fail(fmt::format("tensor {} has {} dimensions", quoted_text(tensor.name), tensor.shape.size()), kNext);
  ForeignTensor result;
  result.name = std::move(name);
  result.is_matrix = tensor.shape.size() == 2;
  result.rows = result.is_matrix ? tensor.shape[0] : 1;
  result.columns = tensor.shape.back();
  result.type = *type;
  result.bytes = tensor.bytes;
  return result;
}

// Queries, keys and values, one below the other.
void add_fused(const GgufFile& file, const GgufTensor& tensor, const BackboneSpec& spec,
               std::vector<ForeignTensor>& tensors) {
  const std::string layer = tensor.name.substr(4, tensor.name.find('.', 4) - 4);
  const bool is_bias = tensor.name.ends_with(".bias");
  const ForeignTensor whole = foreign_tensor(file, tensor, "");
  const std::array<std::pair<const char*, std::size_t>, 3> parts = {
      {{"query", spec.query_width()}, {"key", spec.key_width()}, {"value", spec.key_width()}}};
  if ((is_bias ? whole.columns : whole.rows) != spec.query_width() + 2 * spec.key_width() ||
      is_bias == whole.is_matrix) {
    file.fail(fmt::format("tensor {} has another shape than its model", quoted_text(tensor.name)),
              "fetch the file again");
  }
  if (is_bias && !is_plain(whole.type))
    file.fail(fmt::format("tensor {} is quantised", quoted_text(tensor.name)), kNext);
  std::size_t begin = 0;
  for (const auto& [name, width] : parts) {
    ForeignTensor part = whole;
    part.name = fmt::format("layers.{}.{}{}", layer, name, is_bias ? ".bias" : "");
    (is_bias ? part.columns : part.rows) = width;
    const std::size_t size = is_bias ? row_bytes(whole.type, width) : width * row_bytes(whole.type, whole.columns);
    part.bytes = whole.bytes.subspan(begin, size);
    begin += size;
    tensors.push_back(std::move(part));
  }
}

}  // namespace

ForeignModel parse_gguf_model(std::span<const std::byte> bytes, const std::string& origin, bool with_tokenizer) {
  const GgufFile file(bytes, origin);
  ForeignModel model;
  model.kind = fmt::format("GGUF version {}", file.version());
  model.spec = GgufSpecReader(file).read_spec();
  check(model.spec, origin);
  for (const GgufTensor& tensor : file.tensors()) {
    if (tensor.name.starts_with("blk.") && tensor.name.find(".attn_qkv.") != tensor.name.npos) {
      add_fused(file, tensor, model.spec, model.tensors);
      continue;
    }
    std::string name = our_name(tensor.name);
    if (name.empty()) file.fail(fmt::format("tensor {} is not known", quoted_text(tensor.name)), kNext);
    model.tensors.push_back(foreign_tensor(file, tensor, std::move(name)));
  }
  if (with_tokenizer) model.tokenizer = read_gguf_tokenizer(file);
  model.tokenizer_source = model.tokenizer ? "inside the file" : "the file has none";
  return model;
}

}  // namespace semfuse
