#include "run/training_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "config/keys.h"
#include "features/feature_bank_access.h"
#include "features/word_vectors.h"
#include "io/quoted_text.h"
#include "model/model_access.h"
#include "run/checkpoint.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::string_view kFirstMoments = "adamw.m.";
constexpr std::string_view kSecondMoments = "adamw.v.";
constexpr std::string_view kPrefixes[] = {"", kFirstMoments, kSecondMoments};

[[noreturn]] void refuse(const std::string& origin, const std::string& what) {
  throw Error(fmt::format("{}: {}; the checkpoint is damaged, use another", origin, what));
}

std::uint64_t parse_count(const TensorArchive& archive, const char* key, const std::string& origin) {
  const std::string& text = archive.metadata(key);
  std::uint64_t number = 0;
  const char* last = text.data() + text.size();
  const auto [end, code] = std::from_chars(text.data(), last, number);
  if (code != std::errc() || end != last) {
    refuse(origin, fmt::format("metadata {} is {}, no whole number", key, quoted_text(text)));
  }
  return number;
}

std::vector<NamedParameter> moments(const TensorArchive& archive, const LanguageModel& model, std::string_view prefix,
                                    const std::string& origin) {
  std::vector<NamedParameter> found = model.parameters();
  for (NamedParameter& moment : found) {
    const std::string name = fmt::format("{}{}", prefix, moment.name);
    moment.values = archive.floats(name);
    for (const float value : moment.values) {
      if (!std::isfinite(value)) refuse(origin, fmt::format("tensor {} holds numbers that are not finite", name));
      if (prefix == kSecondMoments && value < 0.0f) {
        refuse(origin, fmt::format("tensor {} holds a negative number", name));
      }
    }
  }
  return found;
}

void add_moments(TensorArchiveWriter& writer, std::string_view prefix, const std::vector<NamedParameter>& moments) {
  for (const NamedParameter& moment : moments) {
    const std::string name = fmt::format("{}{}", prefix, moment.name);
    require_finite(name, moment.values);
    writer.add(name, {moment.shape.begin(), moment.shape.end()}, moment.values);
  }
}

[[noreturn]] void differs(const std::string& origin, const std::string& what) {
  throw Error(fmt::format("{}: belongs to another training: {}; resume the run that it belongs to", origin, what));
}

// Compares key by key, so that the message names the one that differs.
void require_same_experiment(const Experiment& saved, const Experiment& wanted, const std::string& origin) {
  for (const Key& key : experiment_keys()) {
    const std::string found = to_toml(key.get(saved));
    const std::string expected = to_toml(key.get(wanted));
    if (found != expected) differs(origin, fmt::format("{} is {} there, {} here", key.full_name(), found, expected));
  }
}

void require_same_words(const LanguageModel& saved, const LanguageModel& wanted, const std::string& origin) {
  const std::vector<std::string>& found = saved.vocabulary().entries();
  const std::vector<std::string>& expected = wanted.vocabulary().entries();
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    if (found[i] == expected[i]) continue;
    differs(origin, fmt::format("vocabulary entry {} is {} there, {} here", i, quoted_text(found[i]),
                                quoted_text(expected[i])));
  }
  if (found.size() != expected.size()) {
    differs(origin, fmt::format("vocabulary has {} entries there, {} here", found.size(), expected.size()));
  }
  const auto bytes_of = [](const LanguageModel& model) {
    const auto& vectors = FeatureBankAccess::vectors(model.feature_bank());
    return vectors ? vectors->bytes() : std::string();
  };
  if (bytes_of(saved) != bytes_of(wanted)) differs(origin, "word vectors are others there");
  if (saved.feature_bank().lexicon().entries() != wanted.feature_bank().lexicon().entries()) {
    differs(origin, "lexicon has other entries");
  }
}

}  // namespace

void save_training_checkpoint(const std::filesystem::path& path, const LanguageModel& model, const TrainingState& state,
                              const Experiment& experiment, FileLayer& files) {
  TensorArchiveWriter writer;
  try {
    add_model(writer, kTrainingFormat, model, to_toml(experiment));
    add_moments(writer, kFirstMoments, state.first_moments);
    add_moments(writer, kSecondMoments, state.second_moments);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", path.string(), error.what()));
  }
  writer.set_metadata("step", std::to_string(state.step));
  writer.set_metadata("skipped", std::to_string(state.skipped));
  writer.set_metadata("skipped_in_a_row", std::to_string(state.skipped_in_a_row));
  writer.add_checksum();
  writer.save(path, files);
}

TrainingCheckpoint parse_training_checkpoint(TensorArchive archive, const std::string& origin) {
  Checkpoint saved = parse_checkpoint(
      archive, origin, {.format = kTrainingFormat, .first_format = kFirstTrainingFormat, .prefixes = kPrefixes});
  TrainingState state{.step = parse_count(archive, "step", origin),
                      .skipped = parse_count(archive, "skipped", origin),
                      .skipped_in_a_row = parse_count(archive, "skipped_in_a_row", origin),
                      .first_moments = moments(archive, saved.model, kFirstMoments, origin),
                      .second_moments = moments(archive, saved.model, kSecondMoments, origin)};
  return {.archive = std::move(archive), .saved = std::move(saved), .state = std::move(state)};
}

TrainingCheckpoint load_training_checkpoint(const std::filesystem::path& path) {
  TensorArchive archive = TensorArchive::load(path);
  if (!archive.has_checksum()) refuse(path.string(), "it has no checksum");
  return parse_training_checkpoint(std::move(archive), path.string());
}

void resume_training(const TrainingCheckpoint& checkpoint, const std::string& origin, const Experiment& experiment,
                     LanguageModel& model, Trainer& trainer) {
  require_same_experiment(checkpoint.saved.experiment(), experiment, origin);
  require_same_words(checkpoint.saved.model, model, origin);
  try {
    trainer.restore(checkpoint.state);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", origin, error.what()));
  }
  ModelAccess::change_weights(model,
                              [&](ParameterBlock& weights) { weights = ModelAccess::weights(checkpoint.saved.model); });
}

void save_training(const std::filesystem::path& path, const LanguageModel& model, const Trainer& trainer,
                   const Experiment& experiment) {
  save_training_checkpoint(path, model, trainer.state(), experiment, FileLayer::system());
}

void load_training(const std::filesystem::path& path, const Experiment& experiment, LanguageModel& model,
                   Trainer& trainer) {
  resume_training(load_training_checkpoint(path), path.string(), experiment, model, trainer);
}

}  // namespace semfuse
