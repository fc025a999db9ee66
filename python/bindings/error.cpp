#include "semfuse/error.h"

#include "bindings.h"

namespace semfuse::python {

void bind_error(nanobind::module_& module) {
  nanobind::exception<Error>(module, "Error", PyExc_ValueError);
}

}  // namespace semfuse::python
