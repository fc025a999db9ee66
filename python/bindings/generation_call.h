// What Python says of a generation, as a request of the library.
#pragma once

#include <nanobind/nanobind.h>

#include "model_handle.h"
#include "semfuse/generator.h"

namespace semfuse::python {

// Everything but the prompt, by the names of Python's GenerationOptions; what is not there is as the library has it. A
// grammar is a compiled one or None. Throws Error for knobs that the model has not or that do not take such a value,
// and TypeError for another name or a value of another type.
GenerationRequest request_of(const ModelHandle& model, const nanobind::dict& options);

}  // namespace semfuse::python
