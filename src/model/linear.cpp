#include "model/linear.h"

#include <algorithm>
#include <utility>

#include "kernels/reductions.h"

namespace semfuse {

namespace {

constexpr std::size_t kPackColumns = 256;  // Columns that one task packs; a multiple of every kernel's panel width.
constexpr std::size_t kGradientRows =
    192;  // Rows of a weight gradient that one task computes; a multiple of every tile's height.

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

Linear LinearList::add(ParameterId weight, ParameterId row_map, ConstMatrix row_features,
                       const MembershipLayer* memberships, std::size_t inputs_with_gradient) {
  add(weight, std::nullopt, inputs_with_gradient);
  all_.back().row_map = row_map;
  all_.back().row_features = row_features;
  all_.back().memberships = memberships;
  return all_.back();
}

void add_mapped_rows(ConstMatrix features, ConstMatrix map, Matrix rows) {
  AlignedFloats numbers(packed_size(features.cols(), map.rows()));
  pack_transposed(map.column_range(0, features.cols()), numbers.data());
  matmul(features, {.data = numbers.data(), .depth = features.cols(), .cols = map.rows()}, rows, {.accumulate = true});
}

PackedWeights::PackedWeights(const ParameterLayout& layout, const std::vector<Linear>& linears) {
  std::size_t size = 0;
  for (const Linear& linear : linears) {
    size += packed_size(linear.inputs, linear.outputs) + packed_size(linear.outputs, linear.inputs_with_gradient);
  }
  numbers_ = AlignedFloats(size);
  float* next = numbers_.data();
  for (const Linear& linear : linears) {
    Entry entry;
    entry.weight = layout[linear.weight];
    if (linear.bias) {
      entry.has_bias = true;
      entry.bias_offset = layout[*linear.bias].offset;
    }
    if (linear.row_map) {
      entry.row_map = layout[*linear.row_map];
      entry.row_features = linear.row_features;
      entry.memberships = linear.memberships;
      entry.sum = AlignedFloats(linear.outputs * linear.inputs);
    }
    entry.forward = {.data = next, .depth = linear.inputs, .cols = linear.outputs};
    next += packed_size(linear.inputs, linear.outputs);
    entry.backward = {.data = next, .depth = linear.outputs, .cols = linear.inputs_with_gradient};
    next += packed_size(linear.outputs, linear.inputs_with_gradient);
    for (const bool forward : {true, false}) {
      const std::size_t cols = forward ? entry.forward.cols : entry.backward.cols;
      for (std::size_t first = 0; first < cols; first += kPackColumns) {
        const PackedMatrix& packed = forward ? entry.forward : entry.backward;
        tasks_.push_back({.entry = entries_.size(),
                          .forward = forward,
                          .first_column = first,
                          .target = static_cast<std::size_t>(packed.data - numbers_.data()) + first * packed.depth});
      }
    }
    entries_.push_back(std::move(entry));
  }
}

void PackedWeights::refresh(const ParameterBlock& weights, ThreadPool& pool) {
  weights_ = weights.data();
  for (Entry& entry : entries_) {
    if (!entry.row_map) continue;
    std::copy_n(weights.vector(entry.weight), entry.sum.size(), entry.sum.data());
    const ConstMatrix map = weights.matrix(*entry.row_map);
    const ConstMatrix& features = entry.row_features;
    const Matrix sum(entry.sum.data(), entry.forward.cols, entry.forward.depth);
    if (entry.memberships) {
      AlignedFloats numbers(features.rows() * features.cols());
      const Matrix graded(numbers.data(), features.rows(), features.cols());
      entry.memberships->grade(weights, features, graded);
      add_mapped_rows(graded, map, sum);
    } else {
      add_mapped_rows(features, map, sum);
    }
  }
  pool.run(tasks_.size(), [&](std::size_t index, std::size_t) {
    const Task& task = tasks_[index];
    const Entry& entry = entries_[task.entry];
    const PackedMatrix& target = task.forward ? entry.forward : entry.backward;
    const std::size_t count = std::min(kPackColumns, target.cols - task.first_column);
    const ConstMatrix weight = entry.row_map ? ConstMatrix(entry.sum.data(), entry.forward.cols, entry.forward.depth)
                                             : weights.matrix(entry.weight);
    float* packed = numbers_.data() + task.target;
    if (task.forward) {
      pack_transposed(weight.row_range(task.first_column, count), packed);
    } else {
      pack(weight.column_range(task.first_column, count), packed);
    }
  });
}

void PackedWeights::forward(const Linear& linear, ConstMatrix x, Matrix y, bool relu) const {
  const Entry& entry = entries_[linear.index];
  matmul(x, entry.forward, y, {.bias = entry.has_bias ? weights_ + entry.bias_offset : nullptr, .relu = relu});
}

void PackedWeights::backward(const Linear& linear, ConstMatrix d_y, Matrix d_x, bool accumulate) const {
  matmul(d_y, entries_[linear.index].backward, d_x, {.accumulate = accumulate});
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
