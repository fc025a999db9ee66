// y = x · Wᵀ + b: the map itself, its weights packed for the matrix kernels, and the tasks that compute weight
// gradients.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/matrix_view.h"
#include "core/parameter_block.h"
#include "core/thread_pool.h"
#include "kernels/matmul.h"

namespace semfuse {

// Which parameters a linear map uses. Holds no numbers.
struct Linear {
  ParameterId weight{};             // [outputs, inputs]
  std::optional<ParameterId> bias;  // [outputs]
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::size_t inputs_with_gradient = 0;  // Backward gives the gradient of the first so many inputs.
  std::size_t index = 0;                 // Place in LinearList.
};

// All linear maps of a network, in the order in which they were added.
class LinearList {
 public:
  explicit LinearList(ParameterLayout& layout) : layout_(&layout) {}

  // A map with parameters `<name>.weight` and `<name>.bias` of its own.
  Linear add(const std::string& name, std::size_t inputs, std::size_t outputs, std::size_t inputs_with_gradient);
  // A map over parameters that exist already.
  Linear add(ParameterId weight, std::optional<ParameterId> bias, std::size_t inputs_with_gradient);

  const std::vector<Linear>& all() const { return all_; }

 private:
  ParameterLayout* layout_;
  std::vector<Linear> all_;
};

// A matrix W [outputs, inputs] as the matrix kernels read it, forward and backward. Its numbers are its owner's.
class PackedMap {
 public:
  // Floats that it takes, 64-byte aligned.
  static std::size_t size(std::size_t outputs, std::size_t inputs, std::size_t inputs_with_gradient);
  PackedMap(std::size_t outputs, std::size_t inputs, std::size_t inputs_with_gradient, float* numbers);

  // Packing is cut into tasks by the sizes alone.
  std::size_t num_tasks() const;
  void pack(ConstMatrix weight, std::size_t task) const;

  // y = x · Wᵀ
  void forward(ConstMatrix x, Matrix y, const MatmulOptions& options) const;
  // d_x (+)= d_y · W, for the first inputs_with_gradient inputs
  void backward(ConstMatrix d_y, Matrix d_x, bool accumulate) const;

 private:
  std::size_t outputs_;
  std::size_t inputs_;
  std::size_t inputs_with_gradient_;
  float* forward_;
  float* backward_;
};

// Every linear map's weights as the matrix kernels read them, forward and backward. Refreshed once a step.
class PackedWeights {
 public:
  PackedWeights(const ParameterLayout& layout, const std::vector<Linear>& linears);

  void refresh(const ParameterBlock& weights, ThreadPool& pool);

  // y = x · Wᵀ + b, relu on request
  void forward(const Linear& linear, ConstMatrix x, Matrix y, bool relu = false) const;
  // y += x · Wᵀ, of a map without b
  void add_forward(const Linear& linear, ConstMatrix x, Matrix y) const;
  // d_x (+)= d_y · W
  void backward(const Linear& linear, ConstMatrix d_y, Matrix d_x, bool accumulate) const;

 private:
  struct Entry {
    ParameterInfo weight;
    std::optional<std::size_t> bias_offset;
    PackedMap map;
  };
  struct Task {
    std::size_t entry;
    std::size_t index;  // Among the tasks of the entry's map.
  };
  AlignedFloats numbers_;
  std::vector<Entry> entries_;
  std::vector<Task> tasks_;
  const float* weights_ = nullptr;
};

// Weight gradients wait until the activation gradients of a whole chunk are known; then each is one product over all
// its tokens. The list is cut into tasks by the sizes alone, so the order of every sum is fixed.
class GradientTasks {
 public:
  // With `accumulate` gradients add to what the block holds, otherwise they overwrite it.
  GradientTasks(const ParameterLayout& layout, ParameterBlock& gradients, bool accumulate)
      : layout_(&layout), gradients_(&gradients), accumulate_(accumulate) {}

  // d_W (+)= d_yᵀ · x, d_b (+)= column sums of d_y
  void add(const Linear& linear, ConstMatrix d_y, ConstMatrix x);
  // The same for a matrix that is a parameter by itself.
  void add(ParameterId weight, ConstMatrix d_y, ConstMatrix x) { add(d_y, x, gradients_->matrix((*layout_)[weight])); }
  // The gradient of `id` (+)= the sum of the rows.
  void add_row_sum(ParameterId id, ConstMatrix rows);
  // d_rows (+)= d_yᵀ · x, for rows that are no parameter.
  void add(ConstMatrix d_y, ConstMatrix x, Matrix d_rows);

  void run(ThreadPool& pool) const;

 private:
  struct Task {
    ConstMatrix d_y;
    ConstMatrix x;  // Empty: column sums only.
    Matrix d_weight;
    float* d_bias = nullptr;
  };
  const ParameterLayout* layout_;
  ParameterBlock* gradients_;
  bool accumulate_;
  std::vector<Task> tasks_;
};

}  // namespace semfuse
