#include "backbone_view.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "table.h"

namespace semfuse {
namespace {

struct Row {
  std::string name;
  std::string type;
  std::vector<std::size_t> shape;
};

struct View {
  std::string path;
  std::string kind;
  const BackboneSpec& spec;
  const Tokenizer* tokenizer;
  std::string tokenizer_source;
  std::vector<Row> rows;
  std::size_t num_parameters = 0;
};

View view_of(const std::string& path, const ForeignModel& model) {
  View view = {path, model.kind, model.spec, model.tokenizer ? &*model.tokenizer : nullptr, model.tokenizer_source, {}};
  for (const ForeignTensor& tensor : model.tensors) {
    std::vector<std::size_t> shape = {tensor.columns};
    if (tensor.is_matrix) shape.insert(shape.begin(), tensor.rows);
    const std::string type =
        tensor.group > 0 ? fmt::format("int8 in groups of {}", tensor.group) : std::string(to_string(tensor.type));
    view.rows.push_back({tensor.name, type, std::move(shape)});
    view.num_parameters += tensor.rows * tensor.columns;
  }
  return view;
}

View view_of(const ImportedModel& model) {
  View view = {model.origin(), "imported model", model.spec(), model.tokenizer(), "", {}};
  for (const auto& [name, tensor] : model.tensors()) {
    std::vector<std::size_t> shape = {tensor.columns};
    if (tensor.rows > 1) shape.insert(shape.begin(), tensor.rows);
    view.rows.push_back({name, std::string(to_string(tensor.type)), std::move(shape)});
    view.num_parameters += tensor.rows * tensor.columns;
  }
  return view;
}

std::string types_of(const View& view) {
  std::map<std::string, std::size_t> counts;
  for (const Row& row : view.rows) ++counts[row.type];
  std::vector<std::string> texts;
  texts.reserve(counts.size());
  for (const auto& [type, count] : counts) texts.push_back(fmt::format("{} {}", with_separators(count), type));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string tokenizer_text(const Tokenizer* tokenizer, const std::string& source) {
  if (tokenizer == nullptr) return source.empty() ? "none" : source;
  return fmt::format("{}, {} entries, {} of them special{}", to_string(tokenizer->kind()),
                     with_separators(tokenizer->size()), with_separators(tokenizer->specials().size()),
                     source.empty() ? "" : fmt::format("; {}", source));
}

std::string text_of(const Terminal& terminal, const View& view) {
  const BackboneSpec& spec = view.spec;
  std::string text = fmt::format("{}: {}\n\n", printable(view.path), view.kind);
  Table table({Table::Align::left});
  const auto add = [&](const char* what, std::string value) {
    table.add({{.text = what}, {.text = std::move(value)}});
  };
  add("family", fmt::format("{}: {} norms, {}, positions {}", to_string(spec.family), to_string(spec.norm),
                            to_string(spec.activation), to_string(spec.positions)));
  add("sizes", fmt::format("width {}, {} layers, {} heads of {}, {} of keys, feed-forward {}", spec.model_width,
                           spec.num_layers, spec.num_heads, spec.head_width, spec.num_key_heads, spec.hidden_width));
  add("context", fmt::format("{} tokens", with_separators(spec.context)));
  add("vocabulary", fmt::format("{} tokens, {}", with_separators(spec.vocab_size),
                                spec.tied ? "the head is the embedding" : "a head of its own"));
  if (spec.positions == BackbonePositions::rotary) {
    add("rotary", fmt::format("base {}, pairs {}", spec.rotary_base, to_string(spec.rotary_pairs)));
  }
  add("parameters", with_separators(view.num_parameters));
  add("tensors", types_of(view));
  add("tokenizer", printable(tokenizer_text(view.tokenizer, view.tokenizer_source)));
  add("begins with", spec.adds_bos && spec.bos ? fmt::format("token {}", *spec.bos) : "nothing");
  add("ends with", spec.eos.empty() ? "nothing" : fmt::format("token {}", fmt::join(spec.eos, " or ")));
  if (!spec.source_sha256.empty())
    add("made of", printable(spec.source) + ", sha256 " + spec.source_sha256.substr(0, 16));
  return text + table.text(terminal, 2, 2);
}

Json json_of(const View& view) {
  const BackboneSpec& spec = view.spec;
  Json tensors = Json::array();
  for (const Row& row : view.rows) tensors.push_back({{"name", row.name}, {"type", row.type}, {"shape", row.shape}});
  Json specials = Json::array();
  if (view.tokenizer != nullptr) {
    for (const SpecialToken& token : view.tokenizer->specials())
      specials.push_back({{"id", token.id}, {"name", token.name}});
  }
  Json bos;
  if (spec.bos) bos = Json(*spec.bos);
  Json tokenizer;
  if (view.tokenizer != nullptr) {
    tokenizer = {{"kind", to_string(view.tokenizer->kind())},
                 {"size", view.tokenizer->size()},
                 {"leading_blank", view.tokenizer->leading_blank()},
                 {"specials", std::move(specials)}};
  }
  return {{"file", view.path},
          {"kind", view.kind},
          {"family", to_string(spec.family)},
          {"vocab_size", spec.vocab_size},
          {"model_width", spec.model_width},
          {"num_layers", spec.num_layers},
          {"num_heads", spec.num_heads},
          {"num_key_heads", spec.num_key_heads},
          {"head_width", spec.head_width},
          {"hidden_width", spec.hidden_width},
          {"context", spec.context},
          {"activation", to_string(spec.activation)},
          {"tied", spec.tied},
          {"bos", std::move(bos)},
          {"eos", spec.eos},
          {"adds_bos", spec.adds_bos},
          {"parameter_count", view.num_parameters},
          {"tensors", std::move(tensors)},
          {"tokenizer", std::move(tokenizer)}};
}

}  // namespace

std::string backbone_text(const Terminal& terminal, const std::string& path, const ForeignModel& model) {
  return text_of(terminal, view_of(path, model));
}

std::string backbone_text(const Terminal& terminal, const ImportedModel& model) {
  return text_of(terminal, view_of(model));
}

Json backbone_json(const std::string& path, const ForeignModel& model) {
  return json_of(view_of(path, model));
}

Json backbone_json(const ImportedModel& model) {
  return json_of(view_of(model));
}

std::string tokenizer_line(const ForeignModel& model) {
  return fmt::format("tokenizer: {}",
                     printable(tokenizer_text(model.tokenizer ? &*model.tokenizer : nullptr, model.tokenizer_source)));
}

}  // namespace semfuse
