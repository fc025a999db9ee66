// Bytes of the library as Python's text: models may write bytes that are no UTF-8.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

namespace semfuse::python {

// What is no UTF-8 becomes U+FFFD.
inline nanobind::str as_text(std::string_view bytes) {
  return nanobind::steal<nanobind::str>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

}  // namespace semfuse::python
