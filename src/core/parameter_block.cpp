#include "core/parameter_block.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <numeric>

namespace semfuse {

ParameterId ParameterLayout::add(std::string name, std::vector<std::size_t> shape) {
  assert(!shape.empty() && shape.size() <= 2 && !find(name));
  constexpr std::size_t kAlignment = 16;
  const std::size_t size = std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
  entries_.push_back({.name = std::move(name), .shape = std::move(shape), .offset = block_size_, .size = size});
  block_size_ += (size + kAlignment - 1) / kAlignment * kAlignment;
  return ParameterId{entries_.size() - 1};
}

const ParameterInfo* ParameterLayout::find(std::string_view name) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

std::size_t ParameterLayout::parameter_count() const {
  return std::accumulate(entries_.begin(), entries_.end(), std::size_t{0},
                         [](std::size_t sum, const auto& entry) { return sum + entry.size; });
}

}  // namespace semfuse
