#include "backbone/backbone_tensors.h"

#include <fmt/format.h>

#include <utility>

namespace semfuse {
namespace {

class Needs {
 public:
  Needs(const BackboneSpec& spec, std::string prefix)
      : is_llama_(spec.family == BackboneFamily::llama), prefix_(std::move(prefix)) {}

  void matrix(std::string_view name, std::size_t rows, std::size_t columns) {
    list_.push_back({.name = prefix_ + std::string(name), .rows = rows, .columns = columns});
  }
  void linear(std::string_view name, std::size_t rows, std::size_t columns) {
    matrix(name, rows, columns);
    vector(fmt::format("{}.bias", name), rows, is_llama_);
  }
  void norm(std::string_view name, std::size_t width) {
    vector(fmt::format("{}.weight", name), width, false);
    if (!is_llama_) vector(fmt::format("{}.bias", name), width, false);
  }
  std::vector<TensorNeed> take() { return std::move(list_); }

 private:
  void vector(std::string_view name, std::size_t size, bool is_optional) {
    list_.push_back({.name = prefix_ + std::string(name),
                     .rows = 1,
                     .columns = size,
                     .is_matrix = false,
                     .is_optional = is_optional});
  }

  bool is_llama_;
  std::string prefix_;
  std::vector<TensorNeed> list_;
};

}  // namespace

std::vector<TensorNeed> layer_tensors(const BackboneSpec& spec, std::size_t layer) {
  Needs needs(spec, fmt::format("layers.{}.", layer));
  const std::size_t width = spec.model_width;
  needs.norm("attention_norm", width);
  needs.linear("query", spec.query_width(), width);
  needs.linear("key", spec.key_width(), width);
  needs.linear("value", spec.key_width(), width);
  needs.linear("output", width, spec.query_width());
  needs.norm("hidden_norm", width);
  if (spec.activation == BackboneActivation::swiglu) needs.linear("gate", spec.hidden_width, width);
  needs.linear("up", spec.hidden_width, width);
  needs.linear("down", width, spec.hidden_width);
  return needs.take();
}

std::vector<TensorNeed> outer_tensors(const BackboneSpec& spec) {
  Needs needs(spec, "");
  needs.matrix("embedding", spec.vocab_size, spec.model_width);
  if (spec.positions == BackbonePositions::learned) needs.matrix("positions", spec.context, spec.model_width);
  needs.norm("final_norm", spec.model_width);
  if (!spec.tied) needs.matrix("head", spec.vocab_size, spec.model_width);
  return needs.take();
}

}  // namespace semfuse
