#include "backbone/backbone.h"

#include <fmt/format.h>

namespace semfuse {

namespace {

StoredMatrix matrix(const ImportedModel& model, const std::string& name) {
  const StoredTensor& tensor = model.tensor(name);
  return {.type = tensor.type, .data = tensor.bytes.data(), .rows = tensor.rows, .cols = tensor.columns};
}

// Empty if the model has none.
std::vector<float> vector(const ImportedModel& model, const std::string& name) {
  const StoredTensor* tensor = model.find(name);
  if (tensor == nullptr) return {};
  std::vector<float> numbers(tensor->columns);
  decode_row(tensor->type, tensor->bytes, numbers);
  return numbers;
}

StoredLinear linear(const ImportedModel& model, const std::string& name) {
  return {.weight = matrix(model, name), .bias = vector(model, name + ".bias")};
}

NormWeights norm(const ImportedModel& model, const std::string& name) {
  return {.weight = vector(model, name + ".weight"), .bias = vector(model, name + ".bias")};
}

}  // namespace

Backbone::Backbone(const std::filesystem::path& path) : model_(path) {
  embedding_ = matrix(model_, "embedding");
  if (spec().positions == BackbonePositions::learned) positions_ = matrix(model_, "positions");
  for (std::size_t n = 0; n < spec().num_layers; ++n) {
    const std::string name = fmt::format("layers.{}.", n);
    BackboneLayer& layer = layers_.emplace_back();
    layer.attention_norm = norm(model_, name + "attention_norm");
    layer.query = linear(model_, name + "query");
    layer.key = linear(model_, name + "key");
    layer.value = linear(model_, name + "value");
    layer.output = linear(model_, name + "output");
    layer.hidden_norm = norm(model_, name + "hidden_norm");
    layer.up = linear(model_, name + "up");
    if (spec().activation == BackboneActivation::swiglu) layer.gate = linear(model_, name + "gate");
    layer.down = linear(model_, name + "down");
  }
  final_norm_ = norm(model_, "final_norm");
  head_ = spec().tied ? embedding_ : matrix(model_, "head");
}

std::size_t Backbone::parameter_count() const {
  std::size_t count = 0;
  for (const auto& [name, tensor] : model_.tensors()) count += tensor.rows * tensor.columns;
  return count;
}

std::size_t Backbone::stored_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : model_.tensors()) bytes += tensor.bytes.size();
  return bytes;
}

}  // namespace semfuse
