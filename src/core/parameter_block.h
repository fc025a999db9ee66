// The parameters of a model as one flat array: names, shapes and offsets (ParameterLayout), and the numbers
// (ParameterBlock).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/matrix_view.h"
#include "core/workspace.h"

namespace semfuse {

enum class ParameterId : std::size_t {};

struct ParameterInfo {
  std::string name;                // As the equivalent PyTorch module names it.
  std::vector<std::size_t> shape;  // One or two sizes.
  std::size_t offset = 0;          // Of the first number in a block; a multiple of 16.
  std::size_t size = 0;            // How many numbers.
};

class ParameterLayout {
 public:
  ParameterId add(std::string name, std::vector<std::size_t> shape);

  const ParameterInfo& operator[](ParameterId id) const { return entries_[static_cast<std::size_t>(id)]; }
  const std::vector<ParameterInfo>& entries() const { return entries_; }
  const ParameterInfo* find(std::string_view name) const;

  // Floats of a block, the gaps between parameters included.
  std::size_t block_size() const { return block_size_; }
  // Numbers that are trained.
  std::size_t parameter_count() const;

 private:
  std::vector<ParameterInfo> entries_;
  std::size_t block_size_ = 0;
};

// One float per parameter: weights, gradients and moments are a block each. The gaps hold zeros, and every loop over a
// whole block keeps them so.
class ParameterBlock {
 public:
  ParameterBlock() = default;
  explicit ParameterBlock(const ParameterLayout& layout) : numbers_(layout.block_size()) {}

  float* data() { return numbers_.data(); }
  const float* data() const { return numbers_.data(); }
  std::size_t size() const { return numbers_.size(); }

  Matrix matrix(const ParameterInfo& info) { return as_matrix(data(), info); }
  ConstMatrix matrix(const ParameterInfo& info) const { return as_matrix(data(), info); }
  float* vector(const ParameterInfo& info) { return data() + info.offset; }
  const float* vector(const ParameterInfo& info) const { return data() + info.offset; }

 private:
  template <class T>
  static MatrixView<T> as_matrix(T* base, const ParameterInfo& info) {
    return {base + info.offset, info.shape.front(), info.size / info.shape.front()};
  }
  AlignedFloats numbers_;
};

}  // namespace semfuse
