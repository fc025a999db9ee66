// The module semfuse._core: what the Python files of the package stand on.
#include "bindings.h"

NB_MODULE(_core, module) {
  using namespace semfuse::python;
  nanobind::set_leak_warnings(false);  // A model that a notebook still holds when Python ends is no fault.
  module.doc() = "The C++ library behind the package semfuse. Use the package: this module may change.";
  bind_error(module);
  bind_tokenizer(module);
  bind_grammar(module);
  bind_language_model(module);
  bind_generator(module);
  bind_session(module);
  bind_training_run(module);
  bind_studies(module);
}
