#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>

#include "backbone/adapted_model.h"
#include "backbone/model_import.h"
#include "backbone_view.h"
#include "command.h"
#include "config/keys.h"
#include "config/value_json.h"
#include "io/file.h"
#include "io/json_writer.h"
#include "io/tensor_archive.h"
#include "run/checkpoint.h"
#include "run/run_files.h"
#include "run/training_checkpoint.h"
#include "semfuse/error.h"
#include "table.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

struct InspectFlags {
  std::string path;
  bool json = false;
};

std::string shape_text(std::span<const std::size_t> shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, " × "));
}

// "enc.layers.0.linear1.bias" belongs to "enc.layers.0", "gate.weight" to "gate".
std::string module_of(std::string_view parameter) {
  constexpr std::string_view kLayers = "enc.layers.";
  const std::size_t from = parameter.starts_with(kLayers) ? kLayers.size() : 0;
  return std::string(parameter.substr(0, parameter.find('.', from)));
}

struct VocabularyWord {
  std::string word;
  std::string group;  // The class of the lexicon; adjectives with their polarity.
  bool held_out = false;
};

std::vector<VocabularyWord> vocabulary_words(const Checkpoint& checkpoint) {
  const std::optional<Experiment> experiment = checkpoint.find_experiment();
  const std::vector<std::string> held_out =
      experiment ? synthetic_corpus_options(*experiment).held_out : std::vector<std::string>();
  std::vector<VocabularyWord> words;
  for (std::size_t id = 0; id < checkpoint.model.vocabulary().size(); ++id) {
    const std::string& word = checkpoint.model.vocabulary().entries()[id];
    const LexiconEntry* entry = checkpoint.model.feature_bank().lexicon().find(word);
    std::string group = entry == nullptr ? WordClass::kOther : entry->word_class;
    if (entry != nullptr && entry->word_class == WordClass::kAdjective) {
      group = entry->polarity < 0.0 ? "negative adjective" : "positive adjective";
    }
    if (id <= static_cast<std::size_t>(Vocabulary::kEos)) group = "special";
    words.push_back({.word = word,
                     .group = std::move(group),
                     .held_out = std::find(held_out.begin(), held_out.end(), word) != held_out.end()});
  }
  return words;
}

std::vector<std::string> feature_names(const LanguageModel& model) {
  return model.options().fusion ? model.feature_bank().names() : std::vector<std::string>();
}

std::string configuration_text(const Terminal& terminal, const Checkpoint& checkpoint) {
  const ModelOptions& model = checkpoint.model.options();
  Table table({Table::Align::left});
  const auto add = [&](const char* what, std::string text) { table.add({{.text = what}, {.text = std::move(text)}}); };
  add("attention", std::string(to_string(model.attention)));
  add("model",
      fmt::format("width {}, {} layers, {} heads, feed-forward {}, dropout {}, {}", model.width, model.layers,
                  model.heads, model.feed_forward, model.dropout,
                  model.fusion ? fmt::format("fusion with a feature head of {}", model.feature_head) : "no fusion"));
  if (const BackboneNetwork* network = adapted_network(checkpoint.model)) {
    const std::size_t own = network->adapter()->layout().parameter_count();
    add("backbone", printable(fmt::format("{} (sha256 {})", network->file()->path, network->file()->sha256)));
    add("adapter",
        fmt::format("{} parameters beside {}, rank {}", with_separators(own),
                    with_separators(network->backbone().parameter_count()), network->adapter()->shape().rank));
  }
  const Calibration& maps = checkpoint.model.calibration();
  for (const Knob& knob : model.knobs) {
    const auto map = maps.find(knob.name);
    add("knob", to_string(knob) + (checkpoint.model.heads().contains(knob.name) ? "; turned by a head" : "") +
                    (map == maps.end() ? "" : fmt::format("; calibrated by judge {}", map->second.judge)));
  }
  const std::optional<Experiment> experiment = checkpoint.find_experiment();
  if (!experiment) {
    add("training", "the file does not say, or it cannot be read");
    return table.text(terminal, 2, 2);
  }
  const TrainingOptions& training = experiment->training;
  const CorpusOptions& corpus = experiment->corpus;
  if (experiment->data.kind == DataKind::files) {
    add("texts", printable(fmt::format("{}", fmt::join(experiment->data.train, ", "))));
  } else {
    add("corpus", fmt::format("{} training and {} validation sentences", with_separators(corpus.train),
                              with_separators(corpus.val)));
  }
  const bool by_steps = training.steps > 0;
  add("training",
      fmt::format("{} {}, batches of {}, learning rate {}, warmup {}", by_steps ? training.steps : training.epochs,
                  by_steps ? "steps" : "epochs", training.batch, training.learning_rate, training.warmup));
  add("losses", fmt::format("features × {}, uniformity × {}, label smoothing {}", training.feature_loss,
                            training.uniformity_loss, training.label_smoothing));
  add("seed", std::to_string(experiment->seed));
  return table.text(terminal, 2, 2);
}

std::string parameters_text(const Terminal& terminal, const LanguageModel& model) {
  Table table({Table::Align::left, Table::Align::left, Table::Align::right});
  const std::vector<NamedParameter> parameters = model.parameters();
  for (std::size_t i = 0; i < parameters.size();) {
    const std::string module = module_of(parameters[i].name);
    const std::size_t first = i;
    std::size_t subtotal = 0;
    // Updates of a backbone's layers are as many as it has layers, and all alike.
    const bool is_brief = adapted_network(model) != nullptr && module == "layers";
    for (; i < parameters.size() && module_of(parameters[i].name) == module; ++i) {
      const NamedParameter& parameter = parameters[i];
      subtotal += parameter.values.size();
      if (is_brief && !parameter.name.starts_with("layers.0.")) continue;
      table.add({{.text = std::string(parameter.name)},
                 {.text = shape_text(parameter.shape)},
                 {.text = with_separators(parameter.values.size())}});
    }
    if (i - first > 1)
      table.add({{.text = "  " + module, .dim = true},
                 {.text = "subtotal", .dim = true},
                 {.text = with_separators(subtotal), .dim = true}});
  }
  if (const BackboneNetwork* network = adapted_network(model)) {
    table.add(
        {{.text = "backbone"}, {.text = "frozen"}, {.text = with_separators(network->backbone().parameter_count())}});
  }
  table.add({{.text = "total"}, {}, {.text = with_separators(model.parameter_count())}});
  return table.text(terminal, 2, 2);
}

std::string vocabulary_text(const Terminal& terminal, const Checkpoint& checkpoint) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const char* name : {"special", "subject", "pronoun", "verb", "object", "intensifier", "positive adjective",
                           "negative adjective", "punctuation", "other"}) {
    groups.push_back({name, {}});
  }
  for (const VocabularyWord& word : vocabulary_words(checkpoint)) {
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& known) { return known.first == word.group; });
    if (group == groups.end()) group = groups.insert(groups.end(), {word.group, {}});
    group->second.push_back(printable(word.word) + (word.held_out ? "*" : ""));
  }
  Table table({Table::Align::left});
  for (const auto& [name, words] : groups) {
    if (words.empty()) continue;
    table.add({{.text = name}, {.text = fmt::format("{}", fmt::join(words, " "))}});
  }
  return table.text(terminal, 2, 2);
}

constexpr std::array kAttributes = {"positive", "negative", "strength"};
constexpr std::array kLevels = {"low", "medium", "high"};

std::string memberships_text(const Terminal& terminal, const FeatureBank& bank) {
  Table table({Table::Align::left, Table::Align::left, Table::Align::right});
  table.add({{.text = "attribute"}, {.text = "level"}, {.text = "centre"}, {.text = "width"}});
  for (std::size_t a = 0; a < kAttributes.size(); ++a) {
    for (std::size_t k = 0; k < kLevels.size(); ++k) {
      table.add({{.text = k == 0 ? kAttributes[a] : ""},
                 {.text = kLevels[k]},
                 {.text = fmt::format("{:.3f}", bank.memberships()[a].centers[k])},
                 {.text = fmt::format("{:.3f}", bank.memberships()[a].widths[k])}});
    }
  }
  return table.text(terminal, 2, 2);
}

Json memberships_json(const LanguageModel& model) {
  if (!model.options().fusion) return nullptr;
  const FeatureBank& bank = model.feature_bank();
  Json json = {{"kernel", to_string(bank.options().kernel)}, {"learned", bank.options().learn_kernel}};
  for (std::size_t a = 0; a < kAttributes.size(); ++a) {
    json[kAttributes[a]] = {{"centers", bank.memberships()[a].centers}, {"widths", bank.memberships()[a].widths}};
  }
  return json;
}

std::string model_text(const Terminal& terminal, const std::string& file, const Checkpoint& checkpoint) {
  const LanguageModel& model = checkpoint.model;
  const std::vector<std::string> features = feature_names(model);
  std::string text = fmt::format("{}: a semfuse model\n\n", printable(file));
  text += terminal.bold("Configuration") + '\n' + configuration_text(terminal, checkpoint) + '\n';
  text += terminal.bold("Parameters") + '\n' + parameters_text(terminal, model) + '\n';
  const std::string entries = with_separators(model.vocabulary().size());
  if (model.tokenizer() != nullptr) {
    text += terminal.bold("Tokenizer") + fmt::format(": {}, {} entries; `semfuse words list` shows them\n\n",
                                                     to_string(model.tokenizer()->kind()), entries);
  } else {
    text += terminal.bold("Vocabulary") + fmt::format(": {} entries; * held out of training\n", entries);
    text += vocabulary_text(terminal, checkpoint) + '\n';
  }
  text += terminal.bold("Features") + fmt::format(": {}\n", !features.empty()        ? std::to_string(features.size())
                                                            : model.options().fusion ? "none"
                                                                                     : "none, the model has no fusion");
  if (!features.empty()) {
    const FeatureOptions& options = model.feature_bank().options();
    text += wrapped(features, 2, terminal.width()) + '\n';
    text += terminal.bold("Memberships") + fmt::format(": {} kernel, {}\n", to_string(options.kernel),
                                                       options.learn_kernel ? "learned" : "as configured");
    text += memberships_text(terminal, model.feature_bank());
  }
  return text;
}

Json model_json(const std::string& file, const Checkpoint& checkpoint) {
  const LanguageModel& model = checkpoint.model;
  Json configuration = Json::object();
  const std::optional<Experiment> experiment = checkpoint.find_experiment();
  for (const Key& key : experiment ? experiment_keys() : std::vector<Key>()) {
    configuration[key.full_name()] = to_json(key.get(*experiment));
  }
  Json parameters = Json::array();
  for (const NamedParameter& parameter : model.parameters()) {
    parameters.push_back({{"name", parameter.name},
                          {"module", module_of(parameter.name)},
                          {"shape", std::vector<std::size_t>(parameter.shape.begin(), parameter.shape.end())},
                          {"count", parameter.values.size()}});
  }
  Json vocabulary = Json::array();
  for (const VocabularyWord& word : vocabulary_words(checkpoint)) {
    vocabulary.push_back({{"word", word.word}, {"class", word.group}, {"held_out", word.held_out}});
  }
  return {{"file", file},
          {"kind", "semfuse model"},
          {"attention", to_string(model.options().attention)},
          {"configuration", std::move(configuration)},
          {"parameters", std::move(parameters)},
          {"parameter_count", model.parameter_count()},
          {"vocabulary", std::move(vocabulary)},
          {"features", feature_names(model)},
          {"memberships", memberships_json(model)}};
}

std::string archive_text(const Terminal& terminal, const std::string& file, const TensorArchive& archive) {
  std::size_t num_elements = 0;
  Table tensors({Table::Align::left});
  for (const TensorInfo& tensor : archive.tensors()) {
    num_elements += tensor.size();
    tensors.add({{.text = printable(tensor.name)},
                 {.text = std::string(to_string(tensor.dtype))},
                 {.text = shape_text(tensor.shape)}});
  }
  constexpr std::size_t kLongestValue = 200;
  Table metadata({Table::Align::left});
  for (const auto& [key, value] : archive.metadata()) {
    const bool long_value = value.size() > kLongestValue;
    metadata.add(
        {{.text = printable(key)}, {.text = printable(value.substr(0, kLongestValue)) + (long_value ? "..." : "")}});
  }
  std::string text = fmt::format("{}: safetensors, not a semfuse model\n\n", printable(file));
  text += terminal.bold("Tensors") + fmt::format(": {} with {} elements\n", with_separators(archive.tensors().size()),
                                                 with_separators(num_elements));
  text += tensors.text(terminal, 2, 2) + '\n';
  text += terminal.bold("Metadata") + (archive.metadata().empty() ? ": none\n" : "\n") + metadata.text(terminal, 2, 2);
  return text;
}

Json archive_json(const std::string& file, const TensorArchive& archive) {
  Json tensors = Json::array();
  for (const TensorInfo& tensor : archive.tensors()) {
    tensors.push_back({{"name", tensor.name}, {"dtype", to_string(tensor.dtype)}, {"shape", tensor.shape}});
  }
  return {{"file", file}, {"kind", "safetensors"}, {"metadata", archive.metadata()}, {"tensors", std::move(tensors)}};
}

int inspect(const InspectFlags& options) {
  fs::path path = options.path;
  const auto print = [&](const Json& json, const std::string& text) {
    Terminal(stdout).print(options.json ? json.dump() + '\n' : text);
    return 0;
  };
  if (ImportedModel::is_at(path)) {
    const ImportedModel model(path);
    return print(backbone_json(model), backbone_text(Terminal(stdout), model));
  }
  if (looks_foreign(path)) {
    const ForeignModel model = open_foreign_model(path);
    check_tensors(model, options.path);
    return print(backbone_json(options.path, model), backbone_text(Terminal(stdout), options.path, model));
  }
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    path = RunFiles{path}.model();
    if (!is_there(path))
      throw Error(fmt::format("{}: has no model.safetensors; name a run folder or a .safetensors file", options.path));
  }
  const std::string file = path.string();
  const TensorArchive archive = TensorArchive::load(path);
  const auto format = archive.metadata().find("format");
  const bool is_ours = format != archive.metadata().end() && format->second.starts_with("semfuse-");
  const bool is_model = is_ours && !is_training_format(format->second);
  const Terminal terminal(stdout);
  const auto dumped = [](const Json& json) { return json.dump() + '\n'; };
  if (is_model) {
    const Checkpoint checkpoint = parse_checkpoint(archive, file);
    terminal.print(options.json ? dumped(model_json(file, checkpoint)) : model_text(terminal, file, checkpoint));
  } else {
    terminal.print(options.json ? dumped(archive_json(file, archive)) : archive_text(terminal, file, archive));
  }
  return 0;
}

}  // namespace

Command inspect_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("inspect", "Show a model: configuration, parameters, vocabulary, features");
  const auto options = std::make_shared<InspectFlags>();
  app->add_option("RUN_OR_FILE", options->path,
                  "A run folder, a .safetensors file, or a model of others (Hugging Face folder, GGUF, llama2.c); of a "
                  "file that is none of these, its tensors are listed")
      ->required();
  app->add_flag("--json", options->json, "Print one JSON object");
  app->footer(
      "Examples:\n"
      "  semfuse inspect run\n"
      "  semfuse inspect run/model.safetensors --json\n"
      "  semfuse inspect SmolLM2-135M-Instruct.Q4_1.gguf\n");
  return {.app = app, .purpose = "this file", .run = [options] { return inspect(*options); }};
}

}  // namespace semfuse
