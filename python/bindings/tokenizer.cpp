#include "semfuse/tokenizer.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "semfuse/error.h"
#include "semfuse/tokenizer_trainer.h"

namespace semfuse::python {
namespace nb = nanobind;

namespace {

std::vector<TokenId> ids_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<TokenId> ids;
  for (const Token& token : tokenizer.encode(text)) ids.push_back(token.id);
  return ids;
}

Tokenizer trained(const std::vector<std::string>& texts, const std::string& kind, std::size_t size,
                  bool leading_blank) {
  for (const TokenizerKind each : {TokenizerKind::words, TokenizerKind::pieces, TokenizerKind::bytes}) {
    if (to_string(each) != kind) continue;
    const nb::gil_scoped_release released;
    TokenizerTrainer trainer(TokenizerTrainer::kMostWords, leading_blank);
    for (const std::string& text : texts) trainer.add(text);
    return trainer.make(each, size);
  }
  throw Error("kind \"" + kind + "\": a tokenizer is of words, pieces or bytes");
}

}  // namespace

void bind_tokenizer(nb::module_& module) {
  nb::class_<Tokenizer>(module, "Tokenizer", "Any text as the tokens that a model reads, and back, byte for byte.")
      .def_static("load", &Tokenizer::load, nb::arg("path"), nb::call_guard<nb::gil_scoped_release>())
      .def_static("parse", &Tokenizer::parse, nb::arg("json"), nb::arg("origin"),
                  nb::call_guard<nb::gil_scoped_release>())
      .def_static("train", &trained, nb::arg("texts"), nb::arg("kind"), nb::arg("size"), nb::arg("leading_blank"))
      .def_prop_ro("kind", [](const Tokenizer& self) { return std::string(to_string(self.kind())); })
      .def("__len__", &Tokenizer::size)
      .def("encode", &ids_of, nb::arg("text"))
      .def(
          "decode",
          [](const Tokenizer& self, const std::vector<TokenId>& ids) {
            const std::string text = self.decode(ids);
            return nb::bytes(text.data(), text.size());
          },
          nb::arg("ids"))
      .def("surfaces",
           [](const Tokenizer& self) {
             nb::list list;
             for (const std::string& bytes : self.surfaces()) list.append(nb::bytes(bytes.data(), bytes.size()));
             return list;
           })
      .def("to_json", &Tokenizer::to_json);
}

}  // namespace semfuse::python
