#include "backbone/hf_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "io/file.h"
#include "io/json_writer.h"
#include "io/tensor_archive_writer.h"
#include "semfuse/error.h"
#include "text/hf_tokenizer.h"
#include "text/tokenizer_state.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

DType exported_type(StorageType type) {
  if (type == StorageType::f16) return DType::f16;
  if (type == StorageType::bf16) return DType::bf16;
  return DType::f32;
}

bool has_bias(const ImportedModel& model, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return model.find(fmt::format("layers.0.{}.bias", name)) != nullptr; });
}

bool has_attention_bias(const ImportedModel& model) {
  return has_bias(model, {"query", "key", "value", "output"});
}

bool has_hidden_bias(const ImportedModel& model) {
  return has_bias(model, {"gate", "up", "down"});
}

class Exporter {
 public:
  explicit Exporter(const ImportedModel& model) : model_(model), spec_(model.spec()) {}

  TensorArchiveWriter& write() {
    writer_.set_metadata("format", "pt");
    spec_.family == BackboneFamily::llama ? write_llama() : write_gpt2();
    return writer_;
  }

 private:
  // Where row `row` of the result is in ours: there a head has all first halves of pairs, then all second ones.
  std::size_t rotary_row(std::size_t row) const {
    if (spec_.rotary_pairs == RotaryPairs::halves) return row;
    const std::size_t in_head = row % spec_.head_width;
    const std::size_t half = spec_.head_width / 2;
    return row - in_head + (in_head < half ? 2 * in_head : 2 * (in_head - half) + 1);
  }

  void add(const std::string& name, const StoredTensor& tensor, bool is_vector, bool is_rotary) {
    const DType dtype = exported_type(tensor.type);
    std::vector<std::size_t> shape = {tensor.rows, tensor.columns};
    if (is_vector) shape.erase(shape.begin());
    writer_.add(name, shape, dtype, [this, &tensor, is_vector, is_rotary](const ByteSink& sink) {
      std::vector<float> row(tensor.columns);
      for (std::size_t r = 0; r < tensor.rows; ++r) {
        const std::span<const std::byte> bytes = tensor.row(is_rotary && !is_vector ? rotary_row(r) : r);
        if (is_plain(tensor.type) && !(is_rotary && is_vector)) {
          sink(as_text(bytes));
          continue;
        }
        decode_row(tensor.type, bytes, row);
        if (is_rotary && is_vector) {
          const std::vector<float> ours = row;
          for (std::size_t i = 0; i < row.size(); ++i) row[i] = ours[rotary_row(i)];
        }
        sink(as_text(std::as_bytes(std::span(row))));
      }
    });
  }
  void add_zeros(const std::string& name, std::size_t size) {
    writer_.add(name, {size}, DType::f32,
                [size](const ByteSink& sink) { sink(std::string(size * sizeof(float), '\0')); });
  }

  // Biases are all there or none of a kind: where some are missing, they are 0.
  void linear(const std::string& theirs, const std::string& ours, bool with_bias, bool is_rotary = false) {
    add(theirs + ".weight", model_.tensor(ours), false, is_rotary);
    if (!with_bias) return;
    if (const StoredTensor* bias = model_.find(ours + ".bias")) {
      add(theirs + ".bias", *bias, true, is_rotary);
    } else {
      add_zeros(theirs + ".bias", model_.tensor(ours).rows);
    }
  }

  void write_llama() {
    add("model.embed_tokens.weight", model_.tensor("embedding"), false, false);
    for (std::size_t i = 0; i < spec_.num_layers; ++i) {
      const std::string theirs = fmt::format("model.layers.{}.", i);
      const std::string ours = fmt::format("layers.{}.", i);
      add(theirs + "input_layernorm.weight", model_.tensor(ours + "attention_norm.weight"), true, false);
      const bool attention = has_attention_bias(model_);
      linear(theirs + "self_attn.q_proj", ours + "query", attention, true);
      linear(theirs + "self_attn.k_proj", ours + "key", attention, true);
      linear(theirs + "self_attn.v_proj", ours + "value", attention);
      linear(theirs + "self_attn.o_proj", ours + "output", attention);
      add(theirs + "post_attention_layernorm.weight", model_.tensor(ours + "hidden_norm.weight"), true, false);
      const bool hidden = has_hidden_bias(model_);
      linear(theirs + "mlp.gate_proj", ours + "gate", hidden);
      linear(theirs + "mlp.up_proj", ours + "up", hidden);
      linear(theirs + "mlp.down_proj", ours + "down", hidden);
    }
    add("model.norm.weight", model_.tensor("final_norm.weight"), true, false);
    if (!spec_.tied) add("lm_head.weight", model_.tensor("head"), false, false);
  }

  // Conv1D: [inputs, outputs], of several of our matrices side by side.
  void conv(const std::string& theirs, const std::vector<std::string>& ours) {
    std::size_t outputs = 0;
    for (const std::string& name : ours) outputs += model_.tensor(name).rows;
    const std::size_t inputs = model_.tensor(ours[0]).columns;
    writer_.add(theirs + ".weight", {inputs, outputs}, DType::f32, [this, ours, inputs, outputs](const ByteSink& sink) {
      std::vector<float> turned(inputs * outputs);
      std::vector<float> row(inputs);
      std::size_t column = 0;
      for (const std::string& name : ours) {
        const StoredTensor& tensor = model_.tensor(name);
        for (std::size_t r = 0; r < tensor.rows; ++r, ++column) {
          decode_row(tensor.type, tensor.row(r), row);
          for (std::size_t i = 0; i < inputs; ++i) turned[i * outputs + column] = row[i];
        }
      }
      sink(as_text(std::as_bytes(std::span(turned))));
    });
    writer_.add(theirs + ".bias", {outputs}, DType::f32, [this, ours](const ByteSink& sink) {
      for (const std::string& name : ours) sink(as_text(model_.tensor(name + ".bias").bytes));
    });
  }
  void norm(const std::string& theirs, const std::string& ours) {
    add(theirs + ".weight", model_.tensor(ours + ".weight"), true, false);
    add(theirs + ".bias", model_.tensor(ours + ".bias"), true, false);
  }

  void write_gpt2() {
    add("transformer.wte.weight", model_.tensor("embedding"), false, false);
    add("transformer.wpe.weight", model_.tensor("positions"), false, false);
    for (std::size_t i = 0; i < spec_.num_layers; ++i) {
      const std::string theirs = fmt::format("transformer.h.{}.", i);
      const std::string ours = fmt::format("layers.{}.", i);
      norm(theirs + "ln_1", ours + "attention_norm");
      conv(theirs + "attn.c_attn", {ours + "query", ours + "key", ours + "value"});
      conv(theirs + "attn.c_proj", {ours + "output"});
      norm(theirs + "ln_2", ours + "hidden_norm");
      conv(theirs + "mlp.c_fc", {ours + "up"});
      conv(theirs + "mlp.c_proj", {ours + "down"});
    }
    norm("transformer.ln_f", "final_norm");
    if (!spec_.tied) add("lm_head.weight", model_.tensor("head"), false, false);
  }

  const ImportedModel& model_;
  const BackboneSpec& spec_;
  TensorArchiveWriter writer_;
};

const char* activation_name(BackboneActivation activation) {
  switch (activation) {
    case BackboneActivation::gelu_tanh:
      return "gelu_new";
    case BackboneActivation::gelu_erf:
      return "gelu";
    case BackboneActivation::relu:
      return "relu";
    case BackboneActivation::swiglu:
      break;
  }
  return "silu";
}

std::string tokenizer_config(const ImportedModel& model) {
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"model_max_length", model.spec().context},
                 {"model_input_names", std::vector<std::string>{"input_ids", "attention_mask"}},
                 {"clean_up_tokenization_spaces", false}};
  for (const SpecialToken& token : model.tokenizer()->specials()) {
    if (model.spec().bos == token.id) config["bos_token"] = token.name;
    if (!model.spec().eos.empty() && model.spec().eos.back() == token.id) config["eos_token"] = token.name;
  }
  return config.dump(2) + '\n';
}

}  // namespace

std::string hf_config_json(const ImportedModel& model) {
  const BackboneSpec& spec = model.spec();
  const bool is_llama = spec.family == BackboneFamily::llama;
  Json config = {{"architectures", std::vector<std::string>{is_llama ? "LlamaForCausalLM" : "GPT2LMHeadModel"}},
                 {"model_type", to_string(spec.family)},
                 {"vocab_size", spec.vocab_size},
                 {"tie_word_embeddings", spec.tied}};
  Json bos;
  if (spec.bos) bos = Json(*spec.bos);
  config["bos_token_id"] = std::move(bos);
  Json eos;
  if (spec.eos.size() == 1) eos = Json(spec.eos[0]);
  if (spec.eos.size() > 1) eos = Json(spec.eos);
  config["eos_token_id"] = std::move(eos);
  if (is_llama) {
    config["hidden_size"] = spec.model_width;
    config["intermediate_size"] = spec.hidden_width;
    config["num_hidden_layers"] = spec.num_layers;
    config["num_attention_heads"] = spec.num_heads;
    config["num_key_value_heads"] = spec.num_key_heads;
    config["head_dim"] = spec.head_width;
    config["max_position_embeddings"] = spec.context;
    config["rms_norm_eps"] = spec.norm_epsilon;
    config["rope_theta"] = spec.rotary_base;
    config["hidden_act"] = "silu";
    config["attention_bias"] = has_attention_bias(model);
    config["mlp_bias"] = has_hidden_bias(model);
  } else {
    config["n_embd"] = spec.model_width;
    config["n_inner"] = spec.hidden_width;
    config["n_layer"] = spec.num_layers;
    config["n_head"] = spec.num_heads;
    config["n_positions"] = spec.context;
    config["layer_norm_epsilon"] = spec.norm_epsilon;
    config["activation_function"] = activation_name(spec.activation);
  }
  config["torch_dtype"] = "float32";
  return config.dump(2) + '\n';
}

void export_hf_model(const ImportedModel& model, const fs::path& folder, FileLayer& files) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    throw Error(fmt::format("{}: cannot make the folder: {}; name another", folder.string(), failed.message()));
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}) {
    if (fs::exists(folder / name, failed)) {
      throw Error(fmt::format("{}: is there already; name another folder", (folder / name).string()));
    }
  }
  if (const Tokenizer* tokenizer = model.tokenizer()) {
    const ForeignParts* parts = ForeignTokenizers::parts(*tokenizer);
    const std::optional<TokenId> bos = model.spec().adds_bos ? model.spec().bos : std::nullopt;
    write_atomically(folder / "tokenizer.json",
                     parts != nullptr ? hf_tokenizer_json(*parts, bos) : tokenizer->to_json(), files);
    write_atomically(folder / "tokenizer_config.json", tokenizer_config(model), files);
  }
  write_atomically(folder / "config.json", hf_config_json(model), files);
  Exporter exporter(model);
  exporter.write().save(folder / "model.safetensors", files);
}

}  // namespace semfuse
