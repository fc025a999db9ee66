// What each file of bindings adds to the module `semfuse._core`: one function a public header.
#pragma once

#include <nanobind/nanobind.h>

namespace semfuse::python {

void bind_error(nanobind::module_& module);
void bind_tokenizer(nanobind::module_& module);
void bind_grammar(nanobind::module_& module);
void bind_language_model(nanobind::module_& module);
void bind_generator(nanobind::module_& module);
void bind_session(nanobind::module_& module);
void bind_training_run(nanobind::module_& module);
void bind_studies(nanobind::module_& module);

}  // namespace semfuse::python
