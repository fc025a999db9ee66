#include "semfuse/session.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "generation_call.h"
#include "knob_settings.h"
#include "text.h"
#include "text_stream.h"

namespace semfuse::python {
namespace nb = nanobind;

namespace {

std::shared_ptr<TextStream> open(std::shared_ptr<ModelHandle> model, const std::string& prompt,
                                 const nb::dict& options) {
  GenerationRequest request = request_of(*model, options);
  request.prompt = prompt;
  const nb::gil_scoped_release released;
  return std::make_shared<TextStream>(std::move(model), std::move(request));
}

// The bytes that the next token adds, which may end amid a character; None at the end. A signal that Python handles
// ends the waiting.
nb::object next(TextStream& self) {
  while (true) {
    TextStream::Answer answer;
    {
      const nb::gil_scoped_release released;
      answer = self.next();
    }
    if (answer.token) return nb::bytes(answer.token->data(), answer.token->size());
    if (answer.ended) return nb::none();
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

}  // namespace

void bind_session(nb::module_& module) {
  nb::class_<TextStream>(module, "TextStream")
      .def(nb::new_(&open), nb::arg("model"), nb::arg("prompt"), nb::arg("options"))
      .def("next", &next)
      .def(
          "set_knobs",
          [](TextStream& self, const nb::dict& knobs) {
            self.set_knobs(knob_settings(self.model().options().knobs, knobs));
          },
          nb::arg("knobs"))
      .def("close", &TextStream::close, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("text", [](TextStream& self) { return as_text(self.text()); });
}

}  // namespace semfuse::python
