#include "model/linear.h"

#include <algorithm>
#include <utility>

#include "kernels/reductions.h"

namespace semfuse {

namespace {

constexpr std::size_t kPackColumns = 256;  // Columns that one task packs; a multiple of every kernel's panel width.
constexpr std::size_t kGradientRows =
    192;  // Rows of a weight gradient that one task computes; a multiple of every tile's height.

std::size_t pack_tasks(std::size_t cols) {
  return (cols + kPackColumns - 1) / kPackColumns;
}

}  // namespace

Linear LinearList::add(const std::string& name, std::size_t inputs, std::size_t outputs,
                       std::size_t inputs_with_gradient) {
  const ParameterId weight = layout_->add(name + ".weight", {outputs, inputs});
  const ParameterId bias = layout_->add(name + ".bias", {outputs});
  return add(weight, bias, inputs_with_gradient);
}

Linear LinearList::add(ParameterId weight, std::optional<ParameterId> bias, std::size_t inputs_with_gradient) {
  const std::vector<std::size_t>& shape = (*layout_)[weight].shape;
  all_.push_back({.weight = weight,
                  .bias = bias,
                  .inputs = shape[1],
                  .outputs = shape[0],
                  .inputs_with_gradient = inputs_with_gradient,
                  .index = all_.size()});
  return all_.back();
}

std::size_t PackedMap::size(std::size_t outputs, std::size_t inputs, std::size_t inputs_with_gradient) {
  return packed_size(inputs, outputs) + packed_size(outputs, inputs_with_gradient);
}

PackedMap::PackedMap(std::size_t outputs, std::size_t inputs, std::size_t inputs_with_gradient, float* numbers)
    : outputs_(outputs),
      inputs_(inputs),
      inputs_with_gradient_(inputs_with_gradient),
      forward_(numbers),
      backward_(numbers + packed_size(inputs, outputs)) {}

std::size_t PackedMap::num_tasks() const {
  return pack_tasks(outputs_) + pack_tasks(inputs_with_gradient_);
}

void PackedMap::pack(ConstMatrix weight, std::size_t task) const {
  if (task < pack_tasks(outputs_)) {
    const std::size_t first = task * kPackColumns;
    pack_transposed(weight.row_range(first, std::min(kPackColumns, outputs_ - first)), forward_ + first * inputs_);
  } else {
    const std::size_t first = (task - pack_tasks(outputs_)) * kPackColumns;
    semfuse::pack(weight.column_range(first, std::min(kPackColumns, inputs_with_gradient_ - first)),
                  backward_ + first * outputs_);
  }
}

void PackedMap::forward(ConstMatrix x, Matrix y, const MatmulOptions& options) const {
  matmul(x, {.data = forward_, .depth = inputs_, .cols = outputs_}, y, options);
}

void PackedMap::backward(ConstMatrix d_y, Matrix d_x, bool accumulate) const {
  matmul(d_y, {.data = backward_, .depth = outputs_, .cols = inputs_with_gradient_}, d_x, {.accumulate = accumulate});
}

PackedWeights::PackedWeights(const ParameterLayout& layout, const std::vector<Linear>& linears) {
  std::size_t size = 0;
  for (const Linear& linear : linears) {
    size += PackedMap::size(linear.outputs, linear.inputs, linear.inputs_with_gradient);
  }
  numbers_ = AlignedFloats(size);
  float* next = numbers_.data();
  for (const Linear& linear : linears) {
    const PackedMap map(linear.outputs, linear.inputs, linear.inputs_with_gradient, next);
    next += PackedMap::size(linear.outputs, linear.inputs, linear.inputs_with_gradient);
    for (std::size_t i = 0; i < map.num_tasks(); ++i) tasks_.push_back({.entry = entries_.size(), .index = i});
    entries_.push_back({.weight = layout[linear.weight], .bias_offset = {}, .map = map});
    if (linear.bias) entries_.back().bias_offset = layout[*linear.bias].offset;
  }
}

void PackedWeights::refresh(const ParameterBlock& weights, ThreadPool& pool) {
  weights_ = weights.data();
  pool.run(tasks_.size(), [&](std::size_t index, std::size_t) {
    const Entry& entry = entries_[tasks_[index].entry];
    entry.map.pack(weights.matrix(entry.weight), tasks_[index].index);
  });
}

void PackedWeights::forward(const Linear& linear, ConstMatrix x, Matrix y, bool relu) const {
  const Entry& entry = entries_[linear.index];
  entry.map.forward(x, y, {.bias = entry.bias_offset ? weights_ + *entry.bias_offset : nullptr, .relu = relu});
}

void PackedWeights::add_forward(const Linear& linear, ConstMatrix x, Matrix y) const {
  entries_[linear.index].map.forward(x, y, {.accumulate = true});
}

void PackedWeights::backward(const Linear& linear, ConstMatrix d_y, Matrix d_x, bool accumulate) const {
  entries_[linear.index].map.backward(d_y, d_x, accumulate);
}

void GradientTasks::add(const Linear& linear, ConstMatrix d_y, ConstMatrix x) {
  const Matrix d_weight = gradients_->matrix((*layout_)[linear.weight]);
  float* d_bias = linear.bias ? gradients_->vector((*layout_)[*linear.bias]) : nullptr;
  for (std::size_t first = 0; first < linear.outputs; first += kGradientRows) {
    const std::size_t count = std::min(kGradientRows, linear.outputs - first);
    tasks_.push_back({.d_y = d_y.column_range(first, count),
                      .x = x,
                      .d_weight = d_weight.row_range(first, count),
                      .d_bias = d_bias ? d_bias + first : nullptr});
  }
}

void GradientTasks::add_row_sum(ParameterId id, ConstMatrix rows) {
  tasks_.push_back({.d_y = rows, .x = {}, .d_weight = {}, .d_bias = gradients_->vector((*layout_)[id])});
}

void GradientTasks::add(ConstMatrix d_y, ConstMatrix x, Matrix d_rows) {
  for (std::size_t first = 0; first < d_rows.rows(); first += kGradientRows) {
    const std::size_t count = std::min(kGradientRows, d_rows.rows() - first);
    tasks_.push_back({.d_y = d_y.column_range(first, count), .x = x, .d_weight = d_rows.row_range(first, count)});
  }
}

void GradientTasks::run(ThreadPool& pool) const {
  pool.run(tasks_.size(), [&](std::size_t index, std::size_t) {
    const Task& task = tasks_[index];
    if (task.x.data()) matmul_transposed_a(task.d_y, task.x, task.d_weight, accumulate_);
    if (task.d_bias) column_sums(task.d_y, task.d_bias, accumulate_);
  });
}

}  // namespace semfuse
