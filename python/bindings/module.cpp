// The module semfuse._core: what the Python files of the package stand on.
#include "bindings.h"

NB_MODULE(_core, module) {
  using namespace semfuse::python;
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
