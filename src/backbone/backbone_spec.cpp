#include "backbone/backbone_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <set>
#include <utility>

#include "io/json.h"
#include "io/json_writer.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxVocabulary = std::size_t{1} << 24;
constexpr std::size_t kMaxWidth = std::size_t{1} << 20;  // Of everything else, so that products of three fit 64 bits.
constexpr std::size_t kMaxLayers = std::size_t{1} << 12;

// By the enumerators' order.
constexpr std::array<std::string_view, 2> kFamilies = {"llama", "gpt2"};
constexpr std::array<std::string_view, 2> kNorms = {"rms", "layer"};
constexpr std::array<std::string_view, 4> kActivations = {"swiglu", "gelu_tanh", "gelu_erf", "relu"};
constexpr std::array<std::string_view, 2> kPositions = {"rotary", "learned"};
constexpr std::array<std::string_view, 2> kPairs = {"adjacent", "halves"};

template <class Enum, std::size_t kSize>
std::string_view name_of(Enum value, const std::array<std::string_view, kSize>& names) {
  return names[static_cast<std::size_t>(value)];
}

[[noreturn]] void refuse(std::string_view origin, std::string_view what) {
  throw Error(fmt::format("{}: {}; fetch or import the model anew", origin, what));
}

// The fields of the one object; those that nobody asked for are unknown.
class Fields {
 public:
  Fields(const json& object, std::string_view origin) : object_(object), origin_(origin) {
    if (!object.is_object()) refuse(origin, "is not a JSON object");
  }

  std::size_t size(const char* name, std::size_t largest) {
    const json& value = field(name);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 || value.get<std::uint64_t>() > largest) {
      refuse(origin_, fmt::format("\"{}\" is no whole number from 1 to {}", name, largest));
    }
    return value.get<std::size_t>();
  }
  double number(const char* name) {
    const json& value = field(name);
    if (!value.is_number()) refuse(origin_, fmt::format("\"{}\" is no number", name));
    return value.get<double>();
  }
  bool boolean(const char* name) {
    const json& value = field(name);
    if (!value.is_boolean()) refuse(origin_, fmt::format("\"{}\" is neither true nor false", name));
    return value.get<bool>();
  }
  std::string text(const char* name) {
    const json& value = field(name);
    if (!value.is_string()) refuse(origin_, fmt::format("\"{}\" is not text", name));
    return value.get<std::string>();
  }
  template <class Enum, std::size_t kSize>
  void choice(const char* name, const std::array<std::string_view, kSize>& names, Enum& value) {
    const std::string chosen = text(name);
    const auto found = std::find(names.begin(), names.end(), chosen);
    if (found == names.end()) {
      refuse(origin_, fmt::format("\"{}\" is {}, not one of {}", name, quoted_text(chosen), fmt::join(names, ", ")));
    }
    value = static_cast<Enum>(found - names.begin());
  }
  std::optional<TokenId> optional_id(const char* name) {
    const json& value = field(name);
    if (value.is_null()) return std::nullopt;
    return id(name, value);
  }
  std::vector<TokenId> ids(const char* name) {
    const json& value = field(name);
    if (!value.is_array()) refuse(origin_, fmt::format("\"{}\" is no list", name));
    std::vector<TokenId> result;
    for (const json& item : value) result.push_back(id(name, item));
    return result;
  }
  void require_no_other() const {
    for (const auto& [name, value] : object_.items()) {
      if (!read_.contains(name)) refuse(origin_, fmt::format("{} is not known", quoted_text(name)));
    }
  }

 private:
  const json& field(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end()) refuse(origin_, fmt::format("\"{}\" is missing", name));
    read_.insert(name);
    return *found;
  }
  TokenId id(const char* name, const json& value) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= kMaxVocabulary) {
      refuse(origin_, fmt::format("\"{}\" has an id that is no whole number below {}", name, kMaxVocabulary));
    }
    return value.get<TokenId>();
  }

  const json& object_;
  std::string_view origin_;
  std::set<std::string> read_;
};

}  // namespace

std::string_view to_string(BackboneFamily family) {
  return name_of(family, kFamilies);
}

std::string_view to_string(BackboneNorm norm) {
  return name_of(norm, kNorms);
}

std::string_view to_string(BackboneActivation activation) {
  return name_of(activation, kActivations);
}

std::string_view to_string(BackbonePositions positions) {
  return name_of(positions, kPositions);
}

std::string_view to_string(RotaryPairs pairs) {
  return name_of(pairs, kPairs);
}

void check(const BackboneSpec& spec, std::string_view origin) {
  const auto require = [&](bool holds, std::string_view what) {
    if (!holds) refuse(origin, what);
  };
  const auto require_size = [&](const char* name, std::size_t size, std::size_t largest) {
    if (size < 1 || size > largest) refuse(origin, fmt::format("{} is {}, not from 1 to {}", name, size, largest));
  };
  require_size("vocab_size", spec.vocab_size, kMaxVocabulary);
  require_size("model_width", spec.model_width, kMaxWidth);
  require_size("num_layers", spec.num_layers, kMaxLayers);
  require_size("num_heads", spec.num_heads, kMaxWidth);
  require_size("num_key_heads", spec.num_key_heads, kMaxWidth);
  require_size("head_width", spec.head_width, kMaxWidth);
  require_size("query_width", spec.query_width(), kMaxWidth);
  require_size("hidden_width", spec.hidden_width, kMaxWidth);
  require_size("context", spec.context, kMaxVocabulary);
  require(spec.num_heads % spec.num_key_heads == 0,
          fmt::format("{} heads cannot share {} heads of keys", spec.num_heads, spec.num_key_heads));
  require(std::isfinite(spec.norm_epsilon) && spec.norm_epsilon >= 0 && spec.norm_epsilon <= 1,
          "norm_epsilon is not from 0 to 1");
  require(std::isfinite(spec.rotary_base) && spec.rotary_base >= 1 && spec.rotary_base <= 1e12,
          "rotary_base is not from 1 to 1e12");
  const bool is_llama = spec.family == BackboneFamily::llama;
  require((spec.norm == BackboneNorm::rms) == is_llama && (spec.activation == BackboneActivation::swiglu) == is_llama &&
              (spec.positions == BackbonePositions::rotary) == is_llama,
          fmt::format("norm {}, activation {} and positions {} are no {}", to_string(spec.norm),
                      to_string(spec.activation), to_string(spec.positions), to_string(spec.family)));
  require(spec.positions != BackbonePositions::rotary || spec.head_width % 2 == 0,
          "head_width is odd, and rotary positions need pairs");
  const auto is_id = [&](TokenId id) { return id >= 0 && static_cast<std::size_t>(id) < spec.vocab_size; };
  require(!spec.bos || is_id(*spec.bos), "bos is no id of the vocabulary");
  require(std::all_of(spec.eos.begin(), spec.eos.end(), is_id), "eos has an id that the vocabulary has not");
  require(!spec.adds_bos || spec.bos, "adds_bos is true, but there is no bos");
}

std::string to_json(const BackboneSpec& spec) {
  Json bos;
  if (spec.bos) bos = Json(*spec.bos);
  const Json value = {{"family", to_string(spec.family)},
                      {"vocab_size", spec.vocab_size},
                      {"model_width", spec.model_width},
                      {"num_layers", spec.num_layers},
                      {"num_heads", spec.num_heads},
                      {"num_key_heads", spec.num_key_heads},
                      {"head_width", spec.head_width},
                      {"hidden_width", spec.hidden_width},
                      {"context", spec.context},
                      {"norm", to_string(spec.norm)},
                      {"norm_epsilon", spec.norm_epsilon},
                      {"activation", to_string(spec.activation)},
                      {"positions", to_string(spec.positions)},
                      {"rotary_base", spec.rotary_base},
                      {"rotary_pairs", to_string(spec.rotary_pairs)},
                      {"tied", spec.tied},
                      {"bos", std::move(bos)},
                      {"eos", spec.eos},
                      {"adds_bos", spec.adds_bos},
                      {"source", spec.source},
                      {"source_sha256", spec.source_sha256}};
  return value.dump();
}

BackboneSpec parse_backbone_spec(std::string_view text, std::string_view origin) {
  const json object = parse_json(text, origin, 2);
  Fields fields(object, origin);
  BackboneSpec spec;
  fields.choice("family", kFamilies, spec.family);
  spec.vocab_size = fields.size("vocab_size", kMaxVocabulary);
  spec.model_width = fields.size("model_width", kMaxWidth);
  spec.num_layers = fields.size("num_layers", kMaxLayers);
  spec.num_heads = fields.size("num_heads", kMaxWidth);
  spec.num_key_heads = fields.size("num_key_heads", kMaxWidth);
  spec.head_width = fields.size("head_width", kMaxWidth);
  spec.hidden_width = fields.size("hidden_width", kMaxWidth);
  spec.context = fields.size("context", kMaxVocabulary);
  fields.choice("norm", kNorms, spec.norm);
  spec.norm_epsilon = fields.number("norm_epsilon");
  fields.choice("activation", kActivations, spec.activation);
  fields.choice("positions", kPositions, spec.positions);
  spec.rotary_base = fields.number("rotary_base");
  fields.choice("rotary_pairs", kPairs, spec.rotary_pairs);
  spec.tied = fields.boolean("tied");
  spec.bos = fields.optional_id("bos");
  spec.eos = fields.ids("eos");
  spec.adds_bos = fields.boolean("adds_bos");
  spec.source = fields.text("source");
  spec.source_sha256 = fields.text("source_sha256");
  fields.require_no_other();
  check(spec, origin);
  return spec;
}

}  // namespace semfuse
