#include "semfuse/generator.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "generation_call.h"
#include "semfuse/error.h"
#include "text.h"

namespace semfuse::python {
namespace nb = nanobind;

namespace {

std::vector<std::string> prompts_of(nb::handle prompt) {
  if (nb::isinstance<nb::str>(prompt)) return {std::string(utf8_of(prompt))};
  std::vector<std::string> prompts;
  for (const nb::handle each : prompt) {
    if (!nb::isinstance<nb::str>(each)) throw nb::type_error("a prompt is a str, or several in a list");
    prompts.emplace_back(utf8_of(each));
  }
  return prompts;
}

// `n` texts of each prompt, all at once.
std::vector<Generation> run(const ModelHandle& model, GenerationRequest request, nb::handle prompt, std::size_t n) {
  std::vector<std::string> prompts = prompts_of(prompt);
  const nb::gil_scoped_release released;
  std::vector<Generation> generations;
  if (prompts.size() == 1 && n == 1) {
    request.prompt = std::move(prompts.front());
    generations.push_back(model.generator().generate(request));
    return generations;
  }
  std::vector<GenerationRequest> requests;
  requests.reserve(prompts.size() * n);
  for (const std::string& each : prompts) {
    for (std::size_t i = 0; i < n; ++i) {
      requests.push_back(request);
      requests.back().prompt = each;
      requests.back().index = i;
    }
  }
  generations = model.generator().generate(requests);
  for (const Generation& generation : generations) {
    if (generation.error) throw Error(*generation.error);
  }
  return generations;
}

const char* name_of(Generation::Finish finish) {
  switch (finish) {
    case Generation::Finish::ended:
      return "end";
    case Generation::Finish::out_of_tokens:
      return "max_tokens";
    case Generation::Finish::stopped:
      return "stopped";
    default:
      return "failed";
  }
}

nb::list choices(const std::vector<TokenExplanation::Choice>& all) {
  nb::list list;
  for (const TokenExplanation::Choice& choice : all)
    list.append(nb::make_tuple(as_text(choice.word), choice.probability));
  return list;
}

// A row a token, as `semfuse generate --explain --json` names the columns; a dict of columns.
nb::dict explanation_columns(const std::vector<Generation>& generations) {
  nb::dict table;
  const auto column = [&](const char* name, const auto& value_of) {
    nb::list values;
    for (std::size_t i = 0; i < generations.size(); ++i) {
      for (const GeneratedToken& token : generations[i].tokens) values.append(value_of(i, token, *token.explanation));
    }
    table[name] = values;
  };
  using Token = const GeneratedToken&;
  using Why = const TokenExplanation&;
  column("text", [](std::size_t i, Token, Why) { return nb::int_(i); });
  column("word", [](std::size_t, Token token, Why) { return as_text(token.word); });
  column("slot", [](std::size_t, Token, Why why) { return nb::str(why.slot.c_str()); });
  column("forced", [](std::size_t, Token token, Why) { return nb::bool_(token.forced); });
  column("model", [](std::size_t, Token, Why why) { return nb::float_(why.model); });
  column("grammar", [](std::size_t, Token, Why why) { return nb::float_(why.grammar); });
  column("controls", [](std::size_t, Token, Why why) { return nb::float_(why.rules); });
  column("sampler", [](std::size_t, Token, Why why) { return nb::float_(why.sampler); });
  column("removed_by_grammar", [](std::size_t, Token, Why why) { return nb::float_(why.removed_by_grammar); });
  column("removed_by_controls", [](std::size_t, Token, Why why) { return nb::float_(why.removed_by_rules); });
  column("removed_by_sampler", [](std::size_t, Token, Why why) { return nb::float_(why.removed_by_sampler); });
  column("unsteered", [](std::size_t, Token, Why why) { return nb::cast(why.unsteered); });
  column("settings", [](std::size_t, Token, Why why) { return nb::cast(why.settings); });
  column("model_alone", [](std::size_t, Token, Why why) { return choices(why.model_choices); });
  column("drawn_from", [](std::size_t, Token, Why why) { return choices(why.final_choices); });
  return table;
}

nb::object texts_of(const std::vector<Generation>& generations) {
  nb::list list;
  for (const Generation& generation : generations) list.append(as_text(generation.text));
  return list;
}

// Everything but the explanation, as `semfuse generate --json` names it.
nb::object records_of(const std::vector<Generation>& generations) {
  nb::list list;
  for (const Generation& generation : generations) {
    nb::dict record;
    nb::list ids, tokens, log_probabilities;
    for (const GeneratedToken& token : generation.tokens) {
      ids.append(token.id);
      tokens.append(as_text(token.word));
      log_probabilities.append(token.log_probability);
    }
    record["text"] = as_text(generation.text);
    record["prompt_tokens"] = generation.prompt_tokens;
    record["ids"] = ids;
    record["tokens"] = tokens;
    record["log_probabilities"] = log_probabilities;
    record["finish"] = name_of(generation.finish);
    record["grammar_state"] = generation.grammar == Generation::GrammarState::none       ? "none"
                              : generation.grammar == Generation::GrammarState::complete ? "complete"
                                                                                         : "incomplete";
    record["expected"] = generation.expected;
    list.append(record);
  }
  return list;
}

nb::object texts(const ModelHandle& model, nb::handle prompt, std::size_t n, const nb::dict& options) {
  return texts_of(run(model, request_of(model, options), prompt, n));
}

nb::object records(const ModelHandle& model, nb::handle prompt, std::size_t n, const nb::dict& options) {
  return records_of(run(model, request_of(model, options), prompt, n));
}

nb::object explanation(const ModelHandle& model, nb::handle prompt, std::size_t n, const nb::dict& options) {
  GenerationRequest request = request_of(model, options);
  request.explain = true;
  return explanation_columns(run(model, std::move(request), prompt, n));
}

}  // namespace

void bind_generator(nb::module_& module) {
  module.def("generate", &texts, nb::arg("model"), nb::arg("prompt"), nb::arg("n"), nb::arg("options"));
  module.def("generate_records", &records, nb::arg("model"), nb::arg("prompt"), nb::arg("n"), nb::arg("options"));
  module.def("explain", &explanation, nb::arg("model"), nb::arg("prompt"), nb::arg("n"), nb::arg("options"));
  module.def(
      "compile_for_model",
      [](const ModelHandle& model, const Grammar& grammar) {
        const nb::gil_scoped_release released;
        return CompiledGrammar(*model.generator().compile(grammar));
      },
      nb::arg("model"), nb::arg("grammar"));
}

}  // namespace semfuse::python
