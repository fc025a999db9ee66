#include <fmt/format.h>

#include <cmath>

#include "backbone/hf_folder.h"
#include "io/json.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

using nlohmann::json;

// There are many keys that say nothing of the numbers, so unknown ones are passed over; those that would change what
// the model computes are refused by name.
class ConfigReader {
 public:
  ConfigReader(const json& config, std::string_view origin) : config_(config), origin_(origin) {}

  BackboneSpec read() {
    if (!config_.is_object()) fail("is no object");
    const std::string type = text("model_type", "");
    if (type == "llama") {
      read_llama();
    } else if (type == "gpt2") {
      read_gpt2();
    } else {
      refuse(type.empty() ? "says no model_type" : fmt::format("has the model_type {}", quoted_text(type)),
             "llama and gpt2 can be read");
    }
    if (!member("quantization_config").is_null()) refuse("has a quantization_config", "F32, F16 and BF16 can be read");
    spec_.vocab_size = size("vocab_size");
    spec_.bos = id(member("bos_token_id"));
    const json& eos = member("eos_token_id");
    if (eos.is_array()) {
      for (const json& item : eos) add_eos(item);
    } else {
      add_eos(eos);
    }
    check(spec_, origin_);
    return spec_;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(fmt::format("{}: {}; fetch the file again", origin_, what));
  }
  [[noreturn]] void refuse(std::string_view what, std::string_view supported) const {
    throw Error(fmt::format("{}: {}; {}", origin_, what, supported));
  }
  // Null if it is absent.
  const json& member(const char* name) const {
    static const json none;
    const auto found = config_.find(name);
    return found == config_.end() ? none : *found;
  }
  std::size_t size(const char* name) const {
    const json& value = member(name);
    if (!value.is_number_unsigned()) fail(fmt::format("{} is no whole number from 1 on", name));
    return value.get<std::size_t>();
  }
  std::size_t size_or(const char* name, std::size_t otherwise) const {
    return member(name).is_null() ? otherwise : size(name);
  }
  double number_or(const char* name, double otherwise) const {
    const json& value = member(name);
    if (value.is_null()) return otherwise;
    if (!value.is_number()) fail(fmt::format("{} is no number", name));
    return value.get<double>();
  }
  bool boolean_or(const char* name, bool otherwise) const {
    const json& value = member(name);
    if (value.is_null()) return otherwise;
    if (!value.is_boolean()) fail(fmt::format("{} is neither true nor false", name));
    return value.get<bool>();
  }
  std::string text(const char* name, const char* otherwise) const {
    const json& value = member(name);
    if (value.is_null()) return otherwise;
    if (!value.is_string()) fail(fmt::format("{} is not text", name));
    return value.get<std::string>();
  }
  std::optional<TokenId> id(const json& value) const {
    if (value.is_null()) return std::nullopt;
    if (!value.is_number_unsigned()) {
      if (value == json(-1)) return std::nullopt;
      fail("a token id is no whole number");
    }
    // Some files name a token that is not there; such a model is never given it.
    if (value.get<std::uint64_t>() >= spec_.vocab_size) return std::nullopt;
    return value.get<TokenId>();
  }
  void add_eos(const json& value) {
    if (const auto found = id(value)) spec_.eos.push_back(*found);
  }

  void read_llama() {
    spec_.family = BackboneFamily::llama;
    spec_.rotary_pairs = RotaryPairs::halves;
    spec_.model_width = size("hidden_size");
    spec_.hidden_width = size("intermediate_size");
    spec_.num_layers = size("num_hidden_layers");
    spec_.num_heads = size("num_attention_heads");
    spec_.num_key_heads = size_or("num_key_value_heads", spec_.num_heads);
    if (spec_.num_heads == 0) fail("num_attention_heads is 0");
    spec_.head_width = size_or("head_dim", spec_.model_width / spec_.num_heads);
    spec_.context = size_or("max_position_embeddings", 2048);
    spec_.norm_epsilon = number_or("rms_norm_eps", 1e-6);
    spec_.tied = boolean_or("tie_word_embeddings", false);
    spec_.rotary_base = number_or("rope_theta", 10000);
    const std::string activation = text("hidden_act", "silu");
    if (activation != "silu") refuse(fmt::format("has hidden_act {}", quoted_text(activation)), "silu can be read");
    read_rotary(member("rope_scaling"), "rope_scaling");
    read_rotary(member("rope_parameters"), "rope_parameters");
    for (const char* name : {"rope_interleaved", "use_sliding_window"}) {
      if (boolean_or(name, false)) refuse(fmt::format("has {}", name), "models without it can be read");
    }
    if (!member("sliding_window").is_null())
      refuse("has a sliding_window", "attention to everything before can be read");
  }

  // Newer files have the base here.
  void read_rotary(const json& value, const char* name) {
    if (value.is_null()) return;
    if (!value.is_object()) fail(fmt::format("{} is no object", name));
    const json kind = value.contains("rope_type") ? value["rope_type"] : value.value("type", json("default"));
    if (kind != json("default")) {
      refuse(fmt::format("has {} of the type {}", name, kind.is_string() ? quoted_text(kind.get<std::string>()) : "?"),
             "positions must not be scaled");
    }
    if (value.contains("rope_theta")) {
      if (!value["rope_theta"].is_number()) fail("rope_theta is no number");
      spec_.rotary_base = value["rope_theta"].get<double>();
    }
    if (value.contains("partial_rotary_factor") && value["partial_rotary_factor"] != json(1.0)) {
      refuse("turns a part of each head only (partial_rotary_factor)", "1.0 can be read");
    }
  }

  void read_gpt2() {
    spec_.family = BackboneFamily::gpt2;
    spec_.norm = BackboneNorm::layer;
    spec_.positions = BackbonePositions::learned;
    spec_.rotary_pairs = RotaryPairs::halves;
    spec_.model_width = size("n_embd");
    spec_.num_layers = size("n_layer");
    spec_.num_heads = size("n_head");
    spec_.num_key_heads = spec_.num_heads;
    spec_.context = size_or("n_positions", size_or("n_ctx", 1024));
    if (spec_.num_heads == 0 || spec_.model_width % spec_.num_heads != 0) fail("n_embd is no multiple of n_head");
    spec_.head_width = spec_.model_width / spec_.num_heads;
    spec_.hidden_width = size_or("n_inner", spec_.model_width > SIZE_MAX / 4 ? 0 : 4 * spec_.model_width);
    spec_.norm_epsilon = number_or("layer_norm_epsilon", 1e-5);
    spec_.tied = boolean_or("tie_word_embeddings", true);
    const std::string activation = text("activation_function", "gelu_new");
    if (activation == "gelu_new" || activation == "gelu_pytorch_tanh" || activation == "gelu_fast") {
      spec_.activation = BackboneActivation::gelu_tanh;
    } else if (activation == "gelu") {
      spec_.activation = BackboneActivation::gelu_erf;
    } else if (activation == "relu") {
      spec_.activation = BackboneActivation::relu;
    } else {
      refuse(fmt::format("has activation_function {}", quoted_text(activation)), "gelu_new, gelu and relu can be read");
    }
    if (!boolean_or("scale_attn_weights", true)) refuse("has scale_attn_weights false", "true can be read");
    for (const char* name : {"scale_attn_by_inverse_layer_idx", "add_cross_attention"}) {
      if (boolean_or(name, false)) refuse(fmt::format("has {}", name), "models without it can be read");
    }
  }

  const json& config_;
  std::string_view origin_;
  BackboneSpec spec_;
};

}  // namespace

BackboneSpec parse_hf_config(std::string_view text, std::string_view origin) {
  const json config = parse_json(text, origin);
  return ConfigReader(config, origin).read();
}

}  // namespace semfuse
