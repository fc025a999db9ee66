#include "semfuse/checkpoint.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiment/checkpoint.h"
#include "io/json.h"
#include "io/tensor_archive.h"
#include "io/tensor_archive_writer.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr const char* kFormat = "semfuse-1";

nlohmann::json lexicon_json(const Lexicon& lexicon) {
  nlohmann::json entries = nlohmann::json::array();
  for (const LexiconEntry& entry : lexicon.entries()) {
    entries.push_back({{"word", entry.word},
                       {"class", to_string(entry.word_class)},
                       {"polarity", entry.polarity},
                       {"strength", entry.strength}});
  }
  return entries;
}

[[noreturn]] void refuse(const std::string& origin, const std::string& what) {
  throw Error(fmt::format("{}: {}; it is damaged or not a semfuse model, train or copy it again", origin, what));
}

Lexicon parse_lexicon(const std::string& text, const std::string& origin) {
  std::vector<LexiconEntry> entries;
  const nlohmann::json list = parse_json(text, origin + ": metadata lexicon");
  if (!list.is_array()) refuse(origin, "metadata lexicon is not a list");
  for (const nlohmann::json& item : list) {
    const auto field = [&](const char* name, auto is_type) -> const nlohmann::json& {
      if (!item.is_object() || !item.contains(name) || !is_type(item[name]))
        refuse(origin, fmt::format("metadata lexicon: entry {} lacks a valid \"{}\"", entries.size() + 1, name));
      return item[name];
    };
    const auto is_string = [](const nlohmann::json& value) { return value.is_string(); };
    const auto is_number = [](const nlohmann::json& value) { return value.is_number(); };
    const auto word_class = word_class_from_string(field("class", is_string).get<std::string>());
    if (!word_class) refuse(origin, fmt::format("metadata lexicon: entry {} has an unknown class", entries.size() + 1));
    entries.push_back({.word = field("word", is_string).get<std::string>(),
                       .word_class = *word_class,
                       .polarity = field("polarity", is_number).get<double>(),
                       .strength = field("strength", is_number).get<double>()});
  }
  try {
    return Lexicon(std::move(entries));
  } catch (const Error& error) {
    refuse(origin, fmt::format("metadata lexicon: {}", error.what()));
  }
}

std::vector<std::string> parse_words(const std::string& text, const std::string& key, const std::string& origin) {
  const nlohmann::json list = parse_json(text, origin + ": metadata " + key);
  std::vector<std::string> words;
  if (!list.is_array()) refuse(origin, fmt::format("metadata {} is not a list", key));
  for (const nlohmann::json& item : list) {
    if (!item.is_string()) refuse(origin, fmt::format("metadata {}: entry {} is not text", key, words.size() + 1));
    words.push_back(item.get<std::string>());
  }
  return words;
}

Vocabulary parse_vocabulary(const std::string& text, const std::string& origin) {
  try {
    return Vocabulary(parse_words(text, "vocabulary", origin));
  } catch (const Error& error) {
    refuse(origin, fmt::format("metadata vocabulary: {}", error.what()));
  }
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const LanguageModel& model, const Experiment& experiment) {
  TensorArchiveWriter writer;
  writer.set_metadata("format", kFormat);
  writer.set_metadata("config", to_toml(experiment));
  writer.set_metadata("attention", std::string(to_string(model.options().attention)));
  writer.set_metadata("vocabulary", nlohmann::json(model.vocabulary().entries()).dump());
  writer.set_metadata("lexicon", lexicon_json(model.feature_bank().lexicon()).dump());
  writer.set_metadata(
      "features",
      nlohmann::json(model.options().fusion ? model.feature_bank().names() : std::vector<std::string>()).dump());
  for (const NamedParameter& parameter : model.parameters()) {
    writer.add(std::string(parameter.name), {parameter.shape.begin(), parameter.shape.end()}, parameter.values);
  }
  writer.save(path);
}

Checkpoint load_checkpoint(const std::filesystem::path& path) {
  std::filesystem::path file = path;
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) file /= "model.safetensors";
  return parse_checkpoint(TensorArchive::load(file), file.string());
}

Checkpoint parse_checkpoint(const TensorArchive& archive, const std::string& origin) {
  if (const auto found = archive.metadata().find("format");
      found == archive.metadata().end() || found->second != kFormat) {
    refuse(origin, fmt::format("its metadata does not say format {}", kFormat));
  }
  const Experiment experiment = parse_experiment(archive.metadata("config"), origin + ": metadata config");
  Vocabulary vocabulary = parse_vocabulary(archive.metadata("vocabulary"), origin);
  FeatureBank bank(parse_lexicon(archive.metadata("lexicon"), origin), experiment.features);
  if (archive.metadata("attention") != to_string(experiment.model.attention))
    refuse(origin, "metadata attention differs from config");
  if (experiment.model.fusion && parse_words(archive.metadata("features"), "features", origin) != bank.names()) {
    refuse(origin, "metadata features names other features than this version computes");
  }

  // What the configuration asks for is compared with what the file holds before anything of that size is allocated.
  const TensorInfo* table = archive.find("tok.weight");
  if (!table || table->shape != std::vector{vocabulary.size(), experiment.model.width})
    refuse(origin, "tensor tok.weight does not fit vocabulary and width");
  if (experiment.model.layers > archive.tensors().size())
    refuse(origin, "it has fewer layers than its configuration says");
  const std::string last = fmt::format("enc.layers.{}.linear1.weight", experiment.model.layers - 1);
  const TensorInfo* inner = archive.find(last);
  if (!inner || inner->shape != std::vector{experiment.model.feed_forward, experiment.model.width})
    refuse(origin, fmt::format("tensor {} does not fit its configuration", last));
  if (const TensorInfo* head = archive.find("aux_head.0.bias");
      experiment.model.fusion && (!head || head->shape != std::vector{experiment.model.feature_head})) {
    refuse(origin, "tensor aux_head.0.bias does not fit its configuration");
  }

  LanguageModel model(experiment.model, std::move(vocabulary), std::move(bank), experiment.seed);
  for (const NamedParameter& parameter : model.parameters()) {
    const TensorInfo* info = archive.find(parameter.name);
    if (!info) refuse(origin, fmt::format("tensor {} is missing", parameter.name));
    if (!std::equal(info->shape.begin(), info->shape.end(), parameter.shape.begin(), parameter.shape.end())) {
      refuse(origin, fmt::format("tensor {} has shape [{}], not [{}]", parameter.name, fmt::join(info->shape, ", "),
                                 fmt::join(parameter.shape, ", ")));
    }
    model.set_parameter(parameter.name, archive.floats(parameter.name));
  }
  if (archive.tensors().size() != model.parameters().size())
    refuse(origin, "it holds tensors that the model does not have");
  return {.experiment = experiment, .model = std::move(model)};
}

}  // namespace semfuse
