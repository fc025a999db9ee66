#include "run/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "backbone/adapted_model.h"
#include "backbone/imported_language_model.h"
#include "backbone/imported_model.h"
#include "config/keys.h"
#include "features/word_vectors.h"
#include "io/tensor_archive.h"
#include "io/tensor_archive_writer.h"
#include "model/model_access.h"
#include "model/model_spec.h"
#include "run/run_files.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr const char* kAdapterKey = "adapter";  // Metadata of an adapter's file: its backbone.

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

// Files of the first format say what the model is by the configuration that trained it, and twice for two fields.
ModelSpec parse_first_spec(const TensorArchive& archive, const std::string& origin) {
  const Experiment experiment = parse_experiment(archive.metadata("config"), origin + ": metadata config");
  ModelSpec spec = parse_model_spec(archive.metadata(), origin, experiment.model, experiment.features);
  if (archive.metadata("attention") != to_string(spec.options.attention)) {
    refuse_model(origin, "metadata attention differs from config");
  }
  if (spec.options.fusion && parse_words(archive.metadata(), "features", origin) != spec.bank().names()) {
    refuse_model(origin, "metadata features names other features than this version computes");
  }
  return spec;
}

// Compares what the model has with what the file holds.
void require_tensors(const TensorArchive& archive, const ParameterLayout& layout, const ArchiveKind& kind,
                     const std::string& origin) {
  for (const std::string_view prefix : kind.prefixes) {
    for (const ParameterInfo& wanted : layout.entries()) {
      const std::string name = fmt::format("{}{}", prefix, wanted.name);
      const TensorInfo* info = archive.find(name);
      if (!info) refuse_model(origin, fmt::format("tensor {} is missing", name));
      if (info->dtype != DType::f32 || info->shape != wanted.shape) {
        refuse_model(origin, fmt::format("tensor {} is {} [{}], not F32 [{}]", name, to_string(info->dtype),
                                         fmt::join(info->shape, ", "), fmt::join(wanted.shape, ", ")));
      }
    }
  }
  if (archive.tensors().size() != kind.prefixes.size() * layout.entries().size()) {
    refuse_model(origin, "it holds tensors that the model does not have");
  }
}

// Nothing of the size that the spec says is allocated before the tensors are known to be there.
LanguageModel unfilled_whole(ModelSpec& spec, const TensorArchive& archive, const ArchiveKind& kind,
                             const std::string& origin) {
  FeatureBank bank = spec.bank();
  if (spec.options.layers > archive.tensors().size()) refuse_model(origin, "it has fewer layers than it says");
  const std::size_t num_vector_columns = spec.options.fusion && spec.vectors ? spec.vectors->num_columns() : 0;
  const Network network(spec.options, spec.vocabulary.size(), spec.options.fusion ? bank.size() : 0, {}, spec.features,
                        num_vector_columns);
  require_tensors(archive, network.layout(), kind, origin);
  return ModelAccess::unfilled(spec.options, std::move(spec.vocabulary), std::move(bank), std::move(spec.tokenizer));
}

// The file of an adapted model has the adapter alone; tokens are the backbone's.
LanguageModel unfilled_adapted(const ModelSpec& spec, const TensorArchive& archive, const ArchiveKind& kind,
                               const std::string& origin) {
  const AdapterRecord record = parse_adapter_record(archive.metadata(kAdapterKey), origin);
  require_unchanged(record.file, origin);
  const TensorInfo* narrow = archive.find("layers.0.query.narrow.bias");
  const std::size_t rank = narrow != nullptr && narrow->shape.size() == 1 ? narrow->shape.front() : 0;
  if (rank != record.rank) refuse_model(origin, "metadata adapter says another rank than its tensors have");
  LanguageModel model = adapted_model(record.file, spec.options, spec.bank(), record.rank);
  const ModelOptions of_backbone = options_of(adapted_network(model)->backbone().spec());
  if (spec.options.width != of_backbone.width || spec.options.layers != of_backbone.layers) {
    refuse_model(origin, "metadata spec is of another backbone");
  }
  require_tensors(archive, ModelAccess::layout(model), kind, origin);
  return model;
}

LanguageModel build(ModelSpec spec, const TensorArchive& archive, const ArchiveKind& kind, const std::string& origin) {
  LanguageModel model = archive.metadata().contains(kAdapterKey) ? unfilled_adapted(spec, archive, kind, origin)
                                                                 : unfilled_whole(spec, archive, kind, origin);
  ModelAccess::change_weights(model, [&](ParameterBlock& weights) {
    for (const ParameterInfo& info : ModelAccess::layout(model).entries()) {
      const std::span<const float> values = archive.floats(info.name);
      if (!all_finite(values)) {
        refuse_model(origin, fmt::format("tensor {} holds numbers that are not finite", info.name));
      }
      std::copy(values.begin(), values.end(), weights.vector(info));
    }
  });
  if (adapted_network(model) == nullptr) model.set_seen(std::move(spec.seen));
  model.set_knob_support(std::move(spec.knob_support));
  model.set_calibration(std::move(spec.calibration));
  if (spec.heads.empty()) return model;
  try {
    model.set_heads(std::move(spec.heads));
  } catch (const Error& error) {
    refuse_model(origin, fmt::format("metadata heads: {}", error.what()));
  }
  return model;
}

}  // namespace

void require_finite(std::string_view name, std::span<const float> values) {
  if (all_finite(values)) return;
  throw Error(fmt::format(
      "{} holds a number that is not finite, so it is not saved; try a lower training.learning_rate", name));
}

void add_model(TensorArchiveWriter& writer, std::string_view format, const LanguageModel& model,
               const std::string& config) {
  writer.set_metadata("format", std::string(format));
  if (!config.empty()) writer.set_metadata("config", config);
  ModelSpec spec = spec_of(model);
  if (const BackboneNetwork* network = adapted_network(model)) {
    writer.set_metadata(kAdapterKey,
                        to_json(AdapterRecord{.file = *network->file(), .rank = network->adapter()->shape().rank}));
    // The backbone has its tokens.
    spec.tokenizer.reset();
    spec.vocabulary = Vocabulary({"<pad>", "<bos>", "<eos>"});
    spec.seen.assign(spec.vocabulary.size(), true);
  }
  for (const auto& [key, value] : to_metadata(spec)) writer.set_metadata(key, value);
  for (const NamedParameter& parameter : model.parameters()) {
    require_finite(parameter.name, parameter.values);
    writer.add(std::string(parameter.name), {parameter.shape.begin(), parameter.shape.end()}, parameter.values);
  }
}

void save_checkpoint(const std::filesystem::path& path, const LanguageModel& model, const Experiment& experiment) {
  save_checkpoint(path, model, to_toml(experiment));
}

void save_checkpoint(const std::filesystem::path& path, const LanguageModel& model, const std::string& config) {
  TensorArchiveWriter writer;
  add_model(writer, kModelFormat, model, config);
  writer.add_checksum();
  writer.save(path);
}

Checkpoint load_checkpoint(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::is_directory(path, ignored) ? RunFiles{path}.model() : path;
  if (ImportedModel::is_at(file)) return {.model = load_imported(file), .config = "", .origin = file.string()};
  return parse_checkpoint(TensorArchive::load(file), file.string());
}

Checkpoint parse_checkpoint(const TensorArchive& archive, const std::string& origin, const ArchiveKind& kind) {
  const auto format = archive.metadata().find("format");
  const bool is_first = format != archive.metadata().end() && format->second == kind.first_format;
  if (!is_first && (format == archive.metadata().end() || format->second != kind.format)) {
    refuse_model(origin, fmt::format("its metadata does not say format {} or {}", kind.format, kind.first_format));
  }
  ModelSpec spec = is_first ? parse_first_spec(archive, origin) : parse_model_spec(archive.metadata(), origin);
  const auto config = archive.metadata().find("config");
  return {.model = build(std::move(spec), archive, kind, origin),
          .config = config == archive.metadata().end() ? "" : config->second,
          .origin = origin};
}

Experiment Checkpoint::experiment() const {
  if (config.empty()) {
    throw Error(fmt::format("{}: does not say what the model was trained on; name a model that does", origin));
  }
  Experiment trained = parse_experiment(config, origin + ": metadata config");
  Experiment here = trained;
  here.model = model.options();
  here.features = model.feature_bank().options();
  for (const Key& key : experiment_keys()) {
    if (key.section != "model" && key.section != "features") continue;
    const std::string said = to_toml(key.get(trained));
    const std::string found = to_toml(key.get(here));
    if (said == found) continue;
    refuse_model(origin,
                 fmt::format("metadata config says {} = {}, but the model has {}", key.full_name(), said, found));
  }
  return trained;
}

std::optional<Experiment> Checkpoint::find_experiment() const {
  try {
    return experiment();
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace semfuse
