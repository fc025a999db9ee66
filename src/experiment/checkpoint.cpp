#include "semfuse/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiment/checkpoint.h"
#include "io/json.h"
#include "io/tensor_archive.h"
#include "io/tensor_archive_writer.h"
#include "model/network.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

nlohmann::json lexicon_json(const Lexicon& lexicon) {
  nlohmann::json entries = nlohmann::json::array();
  for (const LexiconEntry& entry : lexicon.entries()) {
    entries.push_back({{"word", entry.word},
                       {"class", to_string(entry.word_class)},
                       {"polarity", entry.polarity},
                       {"strength", entry.strength}});
    if (!entry.more.empty()) entries.back()["more"] = entry.more;
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
    if (!item.contains("more")) continue;
    const auto is_object = [](const nlohmann::json& value) { return value.is_object(); };
    for (const auto& [name, value] : field("more", is_object).items()) {
      if (!value.is_number())
        refuse(origin, fmt::format("metadata lexicon: entry {} lacks a valid \"{}\"", entries.size(), name));
      entries.back().more.emplace(name, value.get<double>());
    }
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

// Flags of the vocabulary's entries from the list of those without identity, which older files lack.
std::vector<bool> parse_seen(const TensorArchive& archive, const Vocabulary& vocabulary, const std::string& origin) {
  std::vector<bool> seen(vocabulary.size(), true);
  const auto found = archive.metadata().find("unseen");
  if (found == archive.metadata().end()) return seen;
  for (const std::string& word : parse_words(found->second, "unseen", origin)) {
    const auto id = vocabulary.find(word);
    if (!id || *id <= Vocabulary::kEos) refuse(origin, "metadata unseen names an entry that is no word of the model");
    seen[static_cast<std::size_t>(*id)] = false;
  }
  return seen;
}

// Compares what the configuration asks for with what the file holds, before anything of that size is allocated.
void require_tensors(const TensorArchive& archive, const Experiment& experiment, std::size_t vocab_size,
                     std::size_t num_features, const ArchiveKind& kind, const std::string& origin) {
  const ModelOptions& options = experiment.model;
  if (options.layers > archive.tensors().size()) refuse(origin, "it has fewer layers than its configuration says");
  const Network network(options, vocab_size, num_features, {}, experiment.features);
  for (const std::string_view prefix : kind.prefixes) {
    for (const ParameterInfo& wanted : network.layout().entries()) {
      const std::string name = fmt::format("{}{}", prefix, wanted.name);
      const TensorInfo* info = archive.find(name);
      if (!info) refuse(origin, fmt::format("tensor {} is missing", name));
      if (info->dtype != DType::f32 || info->shape != wanted.shape) {
        refuse(origin, fmt::format("tensor {} is {} [{}], not F32 [{}]", name, to_string(info->dtype),
                                   fmt::join(info->shape, ", "), fmt::join(wanted.shape, ", ")));
      }
    }
  }
  if (archive.tensors().size() != kind.prefixes.size() * network.layout().entries().size()) {
    refuse(origin, "it holds tensors that the model does not have");
  }
}

}  // namespace

void require_finite(std::string_view name, std::span<const float> values) {
  if (std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) return;
  throw Error(fmt::format(
      "{} holds a number that is not finite, so it is not saved; try a lower training.learning_rate", name));
}

void add_model(TensorArchiveWriter& writer, std::string_view format, const LanguageModel& model,
               const Experiment& experiment) {
  writer.set_metadata("format", std::string(format));
  writer.set_metadata("config", to_toml(experiment));
  writer.set_metadata("attention", std::string(to_string(model.options().attention)));
  writer.set_metadata("vocabulary", nlohmann::json(model.vocabulary().entries()).dump());
  writer.set_metadata("lexicon", lexicon_json(model.feature_bank().lexicon()).dump());
  writer.set_metadata(
      "features",
      nlohmann::json(model.options().fusion ? model.feature_bank().names() : std::vector<std::string>()).dump());
  std::vector<std::string> unseen;
  for (std::size_t id = 0; id < model.seen().size(); ++id) {
    if (!model.seen()[id]) unseen.push_back(model.vocabulary().entries()[id]);
  }
  if (!unseen.empty()) writer.set_metadata("unseen", nlohmann::json(unseen).dump());
  for (const NamedParameter& parameter : model.parameters()) {
    require_finite(parameter.name, parameter.values);
    writer.add(std::string(parameter.name), {parameter.shape.begin(), parameter.shape.end()}, parameter.values);
  }
}

void save_checkpoint(const std::filesystem::path& path, const LanguageModel& model, const Experiment& experiment) {
  TensorArchiveWriter writer;
  add_model(writer, kModelFormat, model, experiment);
  writer.add_checksum();
  writer.save(path);
}

Checkpoint load_checkpoint(const std::filesystem::path& path) {
  std::filesystem::path file = path;
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) file /= "model.safetensors";
  return parse_checkpoint(TensorArchive::load(file), file.string());
}

Checkpoint parse_checkpoint(const TensorArchive& archive, const std::string& origin, const ArchiveKind& kind) {
  if (const auto found = archive.metadata().find("format");
      found == archive.metadata().end() || found->second != kind.format) {
    refuse(origin, fmt::format("its metadata does not say format {}", kind.format));
  }
  const Experiment experiment = parse_experiment(archive.metadata("config"), origin + ": metadata config");
  Vocabulary vocabulary = parse_vocabulary(archive.metadata("vocabulary"), origin);
  FeatureBank bank(parse_lexicon(archive.metadata("lexicon"), origin), experiment.features);
  if (archive.metadata("attention") != to_string(experiment.model.attention))
    refuse(origin, "metadata attention differs from config");
  if (experiment.model.fusion && parse_words(archive.metadata("features"), "features", origin) != bank.names()) {
    refuse(origin, "metadata features names other features than this version computes");
  }

  require_tensors(archive, experiment, vocabulary.size(), experiment.model.fusion ? bank.size() : 0, kind, origin);
  LanguageModel model(experiment.model, std::move(vocabulary), std::move(bank), experiment.seed);
  for (const NamedParameter& parameter : model.parameters()) {
    const std::span<const float> values = archive.floats(parameter.name);
    if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) {
      refuse(origin, fmt::format("tensor {} holds numbers that are not finite", parameter.name));
    }
    model.set_parameter(parameter.name, values);
  }
  model.set_seen(parse_seen(archive, model.vocabulary(), origin));
  return {.experiment = experiment, .model = std::move(model)};
}

}  // namespace semfuse
