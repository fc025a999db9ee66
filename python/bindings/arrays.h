// Numbers of the library as numpy arrays that own or borrow them: nothing is copied.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <utility>
#include <vector>

namespace semfuse::python {

using FloatArray = nanobind::ndarray<nanobind::numpy, float, nanobind::ndim<2>>;

// [rows, columns], row-major; the array has the vector's memory.
inline FloatArray as_array(std::vector<float>&& values, std::size_t rows, std::size_t columns) {
  auto owned = std::make_unique<std::vector<float>>(std::move(values));
  float* const data = owned->data();
  const nanobind::capsule owner(owned.release(),
                                [](void* pointer) noexcept { delete static_cast<std::vector<float>*>(pointer); });
  return FloatArray(data, {rows, columns}, owner);
}

}  // namespace semfuse::python
