// Bytes of the library as Python's text, and back: models may write bytes that are no UTF-8.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

namespace semfuse::python {

// What is no UTF-8 becomes U+FFFD.
inline nanobind::str as_text(std::string_view bytes) {
  return nanobind::steal<nanobind::str>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

// Of a str, which keeps it.
inline std::string_view utf8_of(nanobind::handle text) {
  Py_ssize_t size = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) throw nanobind::python_error();
  return {bytes, static_cast<std::size_t>(size)};
}

}  // namespace semfuse::python
