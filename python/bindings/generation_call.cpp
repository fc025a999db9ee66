#include "generation_call.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <array>
#include <memory>

#include "knob_settings.h"
#include "text.h"

namespace semfuse::python {
namespace nb = nanobind;

namespace {

template <class Number>
void set_number(Number& number, nb::handle value) {
  number = nb::cast<Number>(value);
}

void set_guidance(GenerationRequest& request, nb::handle guidance) {
  if (!is_mapping(guidance)) {
    set_number(request.guidance, guidance);
    return;
  }
  for (const auto [knob, weight] : as_dict(guidance)) {
    request.knob_guidance.push_back({.knob = nb::cast<std::string>(knob), .weight = nb::cast<double>(weight)});
  }
}

void set_grammar(GenerationRequest& request, nb::handle grammar) {
  if (grammar.is_none()) return;
  request.grammar = std::make_shared<const CompiledGrammar>(nb::cast<const CompiledGrammar&>(grammar));
}

struct GenerationOption {
  std::string_view name;
  const char* takes;  // For messages.
  void (*set)(GenerationRequest& request, nb::handle value);
};

// The knobs need a model; all else is here.
constexpr const char* kNumber = "a number";
constexpr const char* kCount = "a whole number from 0 on";
constexpr std::array kGenerationOptions = {
    GenerationOption{"guidance", "a number, or one by knob", set_guidance},
    GenerationOption{"seed", kCount, [](GenerationRequest& request, nb::handle v) { set_number(request.seed, v); }},
    GenerationOption{"temperature", kNumber,
                     [](GenerationRequest& request, nb::handle v) { set_number(request.sampling.temperature, v); }},
    GenerationOption{"top_p", kNumber,
                     [](GenerationRequest& request, nb::handle v) { set_number(request.sampling.top_p, v); }},
    GenerationOption{"top_k", kCount,
                     [](GenerationRequest& request, nb::handle v) { set_number(request.sampling.top_k, v); }},
    GenerationOption{"max_tokens", kCount,
                     [](GenerationRequest& request, nb::handle v) { set_number(request.max_tokens, v); }},
    GenerationOption{"repetition_penalty", kNumber,
                     [](GenerationRequest& request, nb::handle v) { set_number(request.repetition.penalty, v); }},
    GenerationOption{"grammar", "a compiled grammar", set_grammar},
    GenerationOption{"calibrated", "True or False",
                     [](GenerationRequest& request, nb::handle v) { set_number(request.calibrated, v); }},
};

[[noreturn]] void refuse_option(std::string_view name) {
  std::string names = "knobs";
  for (const GenerationOption& option : kGenerationOptions) names += fmt::format(", {}", option.name);
  throw nb::type_error(fmt::format("unknown option \"{}\"; there are {}", name, names).c_str());
}

[[noreturn]] void refuse_value(std::string_view name, nb::handle value, const char* takes) {
  throw nb::type_error(fmt::format("{}: {} is not {}", name, nb::cast<std::string>(nb::repr(value)), takes).c_str());
}

void set_option(GenerationRequest& request, std::string_view name, nb::handle value) {
  for (const GenerationOption& option : kGenerationOptions) {
    if (option.name != name) continue;
    try {
      option.set(request, value);
    } catch (const nb::cast_error&) {
      refuse_value(name, value, option.takes);
    }
    return;
  }
  refuse_option(name);
}

}  // namespace

GenerationRequest request_of(const ModelHandle& model, const nb::dict& options) {
  GenerationRequest request;
  for (const auto [key, value] : options) {
    const std::string_view name = utf8_of(key);
    if (name != "knobs") {
      set_option(request, name, value);
    } else if (is_mapping(value)) {
      request.knobs = knob_settings(model.model().options().knobs, as_dict(value));
    } else if (!value.is_none()) {
      refuse_value(name, value, "a dict of knobs and what is asked of them");
    }
  }
  return request;
}

}  // namespace semfuse::python
