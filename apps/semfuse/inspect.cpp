#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "command.h"
#include "experiment/checkpoint.h"
#include "experiment/keys.h"
#include "experiment/training_checkpoint.h"
#include "experiment/value_json.h"
#include "io/tensor_archive.h"
#include "semfuse/error.h"
#include "terminal.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Options {
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
  const std::vector<std::string> held_out = synthetic_corpus_options(checkpoint.experiment).held_out;
  std::vector<VocabularyWord> words;
  for (std::size_t id = 0; id < checkpoint.model.vocabulary().size(); ++id) {
    const std::string& word = checkpoint.model.vocabulary().entries()[id];
    const LexiconEntry* entry = checkpoint.model.feature_bank().lexicon().find(word);
    std::string group(to_string(entry == nullptr ? WordClass::other : entry->word_class));
    if (entry != nullptr && entry->word_class == WordClass::adjective) {
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

std::string configuration_text(const Terminal& terminal, const Experiment& experiment) {
  const ModelOptions& model = experiment.model;
  const TrainingOptions& training = experiment.training;
  const CorpusOptions& corpus = experiment.corpus;
  Table table({Table::Align::left});
  const auto add = [&](const char* what, std::string text) { table.add({{.text = what}, {.text = std::move(text)}}); };
  add("attention", std::string(to_string(model.attention)));
  add("model",
      fmt::format("width {}, {} layers, {} heads, feed-forward {}, dropout {}, {}", model.width, model.layers,
                  model.heads, model.feed_forward, model.dropout,
                  model.fusion ? fmt::format("fusion with a feature head of {}", model.feature_head) : "no fusion"));
  for (const Knob& knob : model.knobs) add("knob", to_string(knob));
  add("corpus", fmt::format("{} training and {} validation sentences", with_separators(corpus.train),
                            with_separators(corpus.val)));
  add("training", fmt::format("{} epochs, batches of {}, learning rate {}, warmup {}", training.epochs, training.batch,
                              training.learning_rate, training.warmup));
  add("losses", fmt::format("features × {}, uniformity × {}, label smoothing {}", training.feature_loss,
                            training.uniformity_loss, training.label_smoothing));
  add("seed", std::to_string(experiment.seed));
  return table.text(terminal, 2, 2);
}

std::string parameters_text(const Terminal& terminal, const LanguageModel& model) {
  Table table({Table::Align::left, Table::Align::left, Table::Align::right});
  const std::vector<NamedParameter> parameters = model.parameters();
  for (std::size_t i = 0; i < parameters.size();) {
    const std::string module = module_of(parameters[i].name);
    const std::size_t first = i;
    std::size_t subtotal = 0;
    for (; i < parameters.size() && module_of(parameters[i].name) == module; ++i) {
      const NamedParameter& parameter = parameters[i];
      subtotal += parameter.values.size();
      table.add({{.text = std::string(parameter.name)},
                 {.text = shape_text(parameter.shape)},
                 {.text = with_separators(parameter.values.size())}});
    }
    if (i - first > 1)
      table.add({{.text = "  " + module, .dim = true},
                 {.text = "subtotal", .dim = true},
                 {.text = with_separators(subtotal), .dim = true}});
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
  text += terminal.bold("Configuration") + '\n' + configuration_text(terminal, checkpoint.experiment) + '\n';
  text += terminal.bold("Parameters") + '\n' + parameters_text(terminal, model) + '\n';
  text += terminal.bold("Vocabulary") +
          fmt::format(": {} entries; * held out of training\n", with_separators(model.vocabulary().size()));
  text += vocabulary_text(terminal, checkpoint) + '\n';
  text += terminal.bold("Features") +
          fmt::format(": {}\n", features.empty() ? "none, the model has no fusion" : std::to_string(features.size()));
  if (!features.empty()) {
    const FeatureOptions& options = model.feature_bank().options();
    text += wrapped(features, 2, terminal.is_terminal() ? terminal.width() : 100) + '\n';
    text += terminal.bold("Memberships") + fmt::format(": {} kernel, {}\n", to_string(options.kernel),
                                                       options.learn_kernel ? "learned" : "as configured");
    text += memberships_text(terminal, model.feature_bank());
  }
  return text;
}

Json model_json(const std::string& file, const Checkpoint& checkpoint) {
  const LanguageModel& model = checkpoint.model;
  Json configuration = Json::object();
  for (const Key& key : experiment_keys()) configuration[key.full_name()] = to_json(key.get(checkpoint.experiment));
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

int inspect(const Options& options) {
  fs::path path = options.path;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    path /= "model.safetensors";
    if (!fs::exists(path, ignored))
      throw Error(fmt::format("{}: has no model.safetensors; name a run folder or a .safetensors file", options.path));
  }
  const std::string file = path.string();
  const TensorArchive archive = TensorArchive::load(path);
  const auto format = archive.metadata().find("format");
  const bool is_ours = format != archive.metadata().end() && format->second.starts_with("semfuse-");
  const bool is_model = is_ours && format->second != kTrainingFormat;
  const Terminal terminal(stdout);
  const auto dumped = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'; };
  if (is_model) {
    const Checkpoint checkpoint = parse_checkpoint(archive, file);
    terminal.print(options.json ? dumped(model_json(file, checkpoint)) : model_text(terminal, file, checkpoint));
  } else {
    terminal.print(options.json ? dumped(archive_json(file, archive)) : archive_text(terminal, file, archive));
  }
  return 0;
}

}  // namespace

Command inspect_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("inspect", "Show a model: configuration, parameters, vocabulary, features");
  const auto options = std::make_shared<Options>();
  app->add_option("RUN_OR_FILE", options->path,
                  "A run folder or a .safetensors file; of one that is no semfuse model, its tensors are listed")
      ->required();
  app->add_flag("--json", options->json, "Print one JSON object");
  app->footer(
      "Examples:\n"
      "  semfuse inspect run\n"
      "  semfuse inspect run/model.safetensors --json\n");
  return {.app = app, .purpose = "this file", .run = [options] { return inspect(*options); }};
}

}  // namespace semfuse
