#include "semfuse/language_model.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <algorithm>

#include "arrays.h"
#include "bindings.h"
#include "knob_settings.h"
#include "model_handle.h"
#include "semfuse/error.h"
#include "semfuse/readout.h"

namespace semfuse::python {
namespace nb = nanobind;

namespace {

using Handle = std::shared_ptr<ModelHandle>;

Handle load(const std::filesystem::path& path) {
  return std::make_shared<ModelHandle>(load_checkpoint(path));
}

// By one of the functions of readout.h. `settings` may be None.
template <class Read>
FloatArray read(const ModelHandle& self, const std::vector<TokenId>& ids, const std::optional<nb::dict>& knobs,
                const Read& rows_of) {
  const std::vector<KnobSetting> settings =
      knobs ? knob_settings(self.model().options().knobs, *knobs) : std::vector<KnobSetting>();
  ReadoutRows rows = [&] {
    const nb::gil_scoped_release released;
    return rows_of(self.model(), ids, settings);
  }();
  return as_array(std::move(rows.values), rows.num_rows, rows.num_columns);
}

const NamedParameter& find(const std::vector<NamedParameter>& parameters, std::string_view name) {
  const auto found = std::ranges::find(parameters, name, &NamedParameter::name);
  if (found == parameters.end()) throw Error(fmt::format("the model has no weight \"{}\"; weights lists them", name));
  return *found;
}

// The model's own numbers, for reading; `Kind` says as what. The array keeps the model.
template <class Kind>
nb::ndarray<Kind, const float> weight(const Handle& self, std::string_view name) {
  const std::vector<NamedParameter> parameters = self->model().parameters();
  const NamedParameter& parameter = find(parameters, name);
  const nb::capsule owner(new Handle(self), [](void* pointer) noexcept { delete static_cast<Handle*>(pointer); });
  return nb::ndarray<Kind, const float>(parameter.values.data(), parameter.shape.size(), parameter.shape.data(), owner);
}

nb::dict knob_dict(const Knob& knob) {
  nb::dict result;
  result["name"] = knob.name;
  result["kind"] = std::string(to_string(knob.kind));
  result["source"] = knob.source;
  result["of_column"] = knob.of_column;
  result["low"] = knob.low;
  result["high"] = knob.high;
  result["labels"] = nb::cast(knob.labels);
  return result;
}

}  // namespace

void bind_language_model(nb::module_& module) {
  nb::class_<ModelHandle>(module, "Model")
      .def_static("load", &load, nb::arg("path"), nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("config", [](const ModelHandle& self) { return self.checkpoint().config; })
      .def_prop_ro("origin", [](const ModelHandle& self) { return self.checkpoint().origin; })
      .def_prop_ro("width", [](const ModelHandle& self) { return self.model().options().width; })
      .def_prop_ro("attention",
                   [](const ModelHandle& self) { return std::string(to_string(self.model().options().attention)); })
      .def_prop_ro("parameter_count", [](const ModelHandle& self) { return self.model().parameter_count(); })
      .def_prop_ro("feature_names", [](const ModelHandle& self) { return self.model().feature_bank().names(); })
      .def_prop_ro("knobs",
                   [](const ModelHandle& self) {
                     nb::list list;
                     for (const Knob& knob : self.model().options().knobs) list.append(knob_dict(knob));
                     return list;
                   })
      .def("__len__", [](const ModelHandle& self) { return self.model().vocabulary().size(); })
      .def_prop_ro("tokenizer",
                   [](const ModelHandle& self) {
                     const Tokenizer* const tokenizer = self.model().tokenizer();
                     return tokenizer == nullptr ? std::optional<Tokenizer>() : *tokenizer;
                   })
      .def(
          "encode", [](const ModelHandle& self, std::string_view text) { return self.model().encode(text); },
          nb::arg("text"))
      .def(
          "decode",
          [](const ModelHandle& self, const std::vector<TokenId>& ids) {
            const std::string text = self.model().decode(ids);
            return nb::bytes(text.data(), text.size());
          },
          nb::arg("ids"))
      .def("surfaces",
           [](const ModelHandle& self) {
             nb::list list;
             for (const std::string& word : self.model().vocabulary().entries())
               list.append(nb::bytes(word.data(), word.size()));
             return list;
           })
      .def(
          "logits",
          [](const ModelHandle& self, const std::vector<TokenId>& ids, const std::optional<nb::dict>& knobs) {
            return read(self, ids, knobs, read_logits);
          },
          nb::arg("ids"), nb::arg("knobs") = nb::none())
      .def(
          "hidden",
          [](const ModelHandle& self, const std::vector<TokenId>& ids, const std::optional<nb::dict>& knobs) {
            return read(self, ids, knobs, read_hidden);
          },
          nb::arg("ids"), nb::arg("knobs") = nb::none())
      .def(
          "features",
          [](const ModelHandle& self, const std::vector<TokenId>& ids) {
            return read(self, ids, {},
                        [](const LanguageModel& model, std::span<const TokenId> tokens, std::span<const KnobSetting>) {
                          return read_features(model, tokens);
                        });
          },
          nb::arg("ids"))
      .def_prop_ro("weight_names",
                   [](const ModelHandle& self) {
                     std::vector<std::string> names;
                     for (const NamedParameter& parameter : self.model().parameters())
                       names.emplace_back(parameter.name);
                     return names;
                   })
      .def("weight", &weight<nb::numpy>, nb::arg("name"))
      .def("weight_dlpack", &weight<nb::array_api>, nb::arg("name"));
}

}  // namespace semfuse::python
