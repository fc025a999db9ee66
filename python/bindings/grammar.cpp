#include "semfuse/grammar.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bindings.h"
#include "core/thread_pool.h"
#include "grammar_matcher.h"
#include "model_handle.h"
#include "semfuse/class_words.h"
#include "semfuse/error.h"

namespace semfuse::python {
namespace nb = nanobind;

namespace {

// Rows of 32-bit words, one bit a token: numpy, torch or whatever speaks DLPack. Never converted, or what is written
// would be lost.
using Bitmask = nb::ndarray<std::int32_t, nb::c_contig, nb::device::cpu>;

std::span<std::int32_t> row_of(const Bitmask& bitmask, std::size_t row, std::size_t vocab_size) {
  const std::size_t words = bitmask.ndim() == 0 ? 0 : bitmask.shape(bitmask.ndim() - 1);
  const std::size_t needed = (vocab_size + 31) / 32;
  const std::size_t rows = words == 0 ? 0 : bitmask.size() / words;
  if (bitmask.ndim() < 1 || bitmask.ndim() > 2 || words < needed || row >= rows) {
    throw Error(
        fmt::format("the bitmask has {} rows of {} words; it takes row {} and {} words of 32 bits for {} tokens", rows,
                    words, row, needed, vocab_size));
  }
  return {bitmask.data() + row * words, words};
}

std::vector<std::string> strings_of(const nb::list& list) {
  std::vector<std::string> strings;
  strings.reserve(nb::len(list));
  for (const nb::handle each : list) {
    if (each.is_none()) {
      strings.emplace_back();
      continue;
    }
    const auto bytes = nb::cast<nb::bytes>(each);
    strings.emplace_back(bytes.c_str(), bytes.size());
  }
  return strings;
}

GrammarVocabulary vocabulary_of(const nb::list& first, const nb::list& later, TokenId end, TokenId leading_blank) {
  TokenSurfaces surfaces{
      .first = strings_of(first), .later = strings_of(later), .end = end, .leading_blank = leading_blank};
  const nb::gil_scoped_release released;
  return GrammarVocabulary(std::move(surfaces));
}

CompiledGrammar compiled(const Grammar& grammar, const GrammarVocabulary& vocabulary) {
  const nb::gil_scoped_release released;
  return CompiledGrammar(grammar, vocabulary);
}

JsonSchemaOptions schema_options(const std::string& whitespace, bool any_order) {
  using Whitespace = JsonSchemaOptions::Whitespace;
  if (whitespace == "none") return {.whitespace = Whitespace::none, .any_order = any_order};
  if (whitespace == "spaced") return {.whitespace = Whitespace::spaced, .any_order = any_order};
  if (whitespace == "flexible") return {.whitespace = Whitespace::flexible, .any_order = any_order};
  throw Error(fmt::format("whitespace \"{}\": it is none, spaced or flexible", whitespace));
}

WordsOfClass words_of(const ModelHandle* model) {
  return model == nullptr ? WordsOfClass() : semfuse::words_of(model->model().feature_bank().lexicon());
}

nb::tuple tuple_of(const TokenSurfaces& surfaces) {
  const auto list_of = [](const std::vector<std::string>& strings) {
    nb::list list;
    for (const std::string& bytes : strings) list.append(nb::bytes(bytes.data(), bytes.size()));
    return list;
  };
  return nb::make_tuple(list_of(surfaces.first), list_of(surfaces.later), surfaces.end, surfaces.leading_blank);
}

void fill_batch(const std::vector<GrammarMatcher*>& matchers, const Bitmask& bitmask, std::size_t threads) {
  std::vector<std::span<std::int32_t>> rows;
  for (std::size_t i = 0; i < matchers.size(); ++i) rows.push_back(row_of(bitmask, i, matchers[i]->vocab_size()));
  const nb::gil_scoped_release released;
  const std::size_t workers = std::clamp<std::size_t>(thread_count(threads), 1, std::max<std::size_t>(rows.size(), 1));
  ThreadPool pool(workers);
  pool.run(rows.size(), [&](std::size_t i, std::size_t) { matchers[i]->fill(rows[i]); });
}

}  // namespace

void bind_grammar(nb::module_& module) {
  nb::class_<Grammar>(module, "Grammar")
      .def_static(
          "parse",
          [](std::string_view gbnf, std::string_view origin, const ModelHandle* model) {
            return Grammar::parse(gbnf, origin, words_of(model));
          },
          nb::arg("gbnf"), nb::arg("origin"), nb::arg("model").none() = nb::none())
      .def_static(
          "builtin",
          [](std::string_view name, const ModelHandle* model) { return Grammar::builtin(name, words_of(model)); },
          nb::arg("name"), nb::arg("model").none() = nb::none())
      .def_static(
          "from_json_schema",
          [](std::string_view schema, const std::string& whitespace, bool any_order) {
            const JsonSchemaOptions options = schema_options(whitespace, any_order);
            const nb::gil_scoped_release released;
            return Grammar::from_json_schema(schema, "schema", options);
          },
          nb::arg("schema"), nb::arg("whitespace"), nb::arg("any_order"))
      .def_static(
          "from_regex", [](std::string_view regex) { return Grammar::from_regex(regex); }, nb::arg("regex"),
          nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("gbnf", &Grammar::gbnf)
      .def(
          "match",
          [](const Grammar& self, std::string_view text) {
            const Grammar::Match match = self.match(text);
            return nb::make_tuple(match.accepted, match.offset, match.expected);
          },
          nb::arg("text"));
  nb::class_<CompiledGrammar>(module, "CompiledGrammar")
      .def(nb::new_(&compiled), nb::arg("grammar"), nb::arg("vocabulary"))
      .def_prop_ro("promises_end", &CompiledGrammar::promises_end)
      .def_prop_ro("vocab_size", &CompiledGrammar::vocab_size);
  nb::class_<GrammarVocabulary>(module, "GrammarVocabulary")
      .def(nb::new_(&vocabulary_of), nb::arg("first"), nb::arg("later"), nb::arg("end"), nb::arg("leading_blank"))
      .def("__len__", &GrammarVocabulary::size);
  nb::class_<GrammarMatcher>(module, "GrammarMatcher")
      .def(nb::init<const CompiledGrammar&>(), nb::arg("grammar"))
      .def("copy", [](const GrammarMatcher& self) { return GrammarMatcher(self); })
      .def("allowed", &GrammarMatcher::allowed)
      .def(
          "fill",
          [](GrammarMatcher& self, const Bitmask& bitmask, std::size_t row) {
            self.fill(row_of(bitmask, row, self.vocab_size()));
          },
          nb::arg("bitmask").noconvert(), nb::arg("row") = 0)
      .def("advance", &GrammarMatcher::advance, nb::arg("token"))
      .def("rollback", &GrammarMatcher::rollback, nb::arg("count"))
      .def_prop_ro("num_tokens", &GrammarMatcher::num_tokens)
      .def_prop_ro("can_end", &GrammarMatcher::can_end)
      .def_prop_ro("ended", &GrammarMatcher::ended)
      .def("forced_text",
           [](GrammarMatcher& self) {
             const std::string text = self.forced_text();
             return nb::bytes(text.data(), text.size());
           })
      .def("forced_tokens", &GrammarMatcher::forced_tokens)
      .def("expected", &GrammarMatcher::expected, nb::arg("limit"));
  module.def(
      "token_surfaces", [](const Tokenizer& tokenizer) { return tuple_of(TokenSurfaces::of(tokenizer)); },
      nb::arg("tokenizer"));
  module.def(
      "token_surfaces", [](const ModelHandle& model) { return tuple_of(token_surfaces(model.model())); },
      nb::arg("model"));
  module.def("fill_batch", &fill_batch, nb::arg("matchers"), nb::arg("bitmask").noconvert(), nb::arg("threads"));
}

}  // namespace semfuse::python
