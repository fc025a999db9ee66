#include "run/verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "config/feature_sources.h"
#include "features/natural_bank.h"
#include "io/file.h"
#include "io/tensor_archive.h"
#include "run/checkpoint.h"
#include "run/checkpoint_store.h"
#include "run/run_files.h"
#include "run/run_log.h"
#include "run/training_checkpoint.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

constexpr int kListings = 100;

// What `check` says of the file; an Error becomes what is wrong with it.
Finding finding_of(const fs::path& path, const std::function<std::string()>& check) {
  try {
    return {.path = path, .whole = true, .text = check()};
  } catch (const Error& error) {
    std::string text = error.what();
    const std::string origin = path.string() + ": ";
    if (text.starts_with(origin)) text.erase(0, origin.size());
    return {.path = path, .whole = false, .text = std::move(text)};
  }
}

std::string checked_text(const TensorArchive& archive, const std::string& what) {
  std::size_t numbers = 0;
  for (const TensorInfo& tensor : archive.tensors()) numbers += tensor.size();
  return fmt::format("{}: structure{} and {} numbers checked{}", what, archive.has_checksum() ? ", checksum" : "",
                     numbers, archive.has_checksum() ? "" : " (it has no checksum)");
}

std::string check_other(const TensorArchive& archive) {
  for (const TensorInfo& tensor : archive.tensors()) {
    if (tensor.dtype != DType::f32) continue;
    const std::span<const float> values = archive.floats(tensor.name);
    if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) {
      throw Error(fmt::format("tensor {} holds numbers that are not finite", tensor.name));
    }
  }
  return checked_text(archive, "tensors of another program");
}

// Any file; if `config` is there, it must be that of the file's experiment.
std::string check_archive(const fs::path& path, const std::string* config) {
  TensorArchive archive = TensorArchive::load(path);
  const auto format = archive.metadata().find("format");
  // What trained it, if that is said, must have made such a model, and be what config.toml says.
  const auto require_config = [&](const Checkpoint& checkpoint) {
    if (checkpoint.config.empty() && config == nullptr) return;
    const std::string trained = to_toml(checkpoint.experiment());
    if (config != nullptr && trained != *config) throw Error("its configuration is not that of config.toml");
  };
  if (format == archive.metadata().end() || !format->second.starts_with("semfuse-")) return check_other(archive);
  if (!is_training_format(format->second)) {
    require_config(parse_checkpoint(archive, path.string()));
    return checked_text(archive, "a model");
  }
  const TrainingCheckpoint checkpoint = load_training_checkpoint(path);
  require_config(checkpoint.saved);
  return checked_text(archive, fmt::format("a training at step {}", checkpoint.state.step));
}

Finding check_checkpoint(const CheckpointStore::Entry& entry, const std::string* config) {
  return finding_of(entry.path, [&] {
    std::string text = check_archive(entry.path, config);
    if (load_training_checkpoint(entry.path).state.step != entry.step) throw Error("holds another step than its name");
    return text;
  });
}

std::string check_log(const fs::path& path, std::uint64_t saved_step) {
  const RunHistory history = parse_run_log(read_text(path), path.string());
  if (history.steps.size() < saved_step) {
    throw Error(fmt::format("has {} steps, but the newest checkpoint is at step {}", history.steps.size(), saved_step));
  }
  return fmt::format("{} steps and {} evaluations, none missing", history.steps.size(), history.evaluations.size());
}

// A folder that no training wrote, as `words add` makes them, has neither.
bool was_trained(const RunFiles& run) {
  std::error_code ignored;
  return fs::exists(run.checkpoints(), ignored) || fs::exists(run.log(), ignored);
}

std::vector<Finding> verify_run(const RunFiles& run) {
  std::vector<Finding> findings;
  std::string config;
  std::optional<Experiment> experiment;
  findings.push_back(finding_of(run.config(), [&] {
    experiment = parse_experiment(read_text(run.config()), run.config().string());
    config = to_toml(*experiment);
    return "every key checked";
  }));
  const std::string* wanted = config.empty() ? nullptr : &config;
  const fs::path model = run.model();
  findings.push_back(finding_of(model, [&] {
    load_checkpoint(model);  // Refuses what is whole, but no model.
    return check_archive(model, wanted);
  }));
  const CheckpointStore store(run.checkpoints());
  std::error_code ignored;
  std::vector<CheckpointStore::Entry> entries;
  bool listed = false;
  // A training that goes on removes old checkpoints. One that is gone by the time it is read is not damaged; if all of
  // them are, there are newer ones.
  for (int attempt = 0; !listed && attempt < kListings; ++attempt) {
    entries = store.list();
    listed = entries.empty();
    for (const CheckpointStore::Entry& entry : entries) {
      Finding finding = check_checkpoint(entry, wanted);
      if (!finding.whole && !fs::exists(fs::symlink_status(entry.path, ignored))) continue;
      findings.push_back(std::move(finding));
      listed = true;
    }
  }
  if (experiment && experiment->init == RunFiles::kInitialModel) {
    const fs::path initial = run.folder / RunFiles::kInitialModel;
    findings.push_back(finding_of(initial, [&] {
      load_checkpoint(initial);
      return check_archive(initial, nullptr);
    }));
  }
  if (experiment && experiment->lexicon == RunFiles::kLexicon) {
    findings.push_back(finding_of(
        run.lexicon(), [&] { return fmt::format("{} words", Lexicon::load(run.lexicon()).entries().size()); }));
  }
  if (experiment && experiment->features.bank == FeatureSet::natural) {
    for (const FeatureSource& source : feature_sources()) {
      const fs::path file = run.folder / source.kept_as;
      if (source.name == &Experiment::lexicon || experiment.value().*source.name != source.kept_as) continue;
      findings.push_back(finding_of(file, [&] {
        if (source.name == &Experiment::tagger) {
          return fmt::format("{} features in order", Tagger::load(file).in_order().size());
        }
        return fmt::format("{} features", BankDeclaration::load(file.string()).features.size());
      }));
    }
  }
  if (entries.empty() && !was_trained(run)) return findings;
  findings.push_back(finding_of(run.checkpoint_settings(), [&] {
    if (!fs::is_regular_file(run.checkpoint_settings(), ignored)) throw Error("is missing");
    const CheckpointSettings settings = store.load_settings();
    return fmt::format("a checkpoint every {} steps, {} kept", settings.every, settings.keep);
  }));
  const fs::path log = run.log();
  const std::uint64_t saved_step = entries.empty() ? 0 : entries.front().step;
  if (saved_step > 0 || fs::exists(log, ignored)) {
    findings.push_back(finding_of(log, [&] { return check_log(log, saved_step); }));
  }
  return findings;
}

}  // namespace

std::vector<Finding> verify(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    read_bytes(path);  // What cannot be read at all is no finding, but an error.
    return {finding_of(path, [&] { return check_archive(path, nullptr); })};
  }
  const RunFiles run{path};
  if (!fs::exists(run.config(), ignored)) {
    // A model that does not say what trained it.
    if (fs::exists(run.model(), ignored) && !was_trained(run)) return verify(run.model());
    throw Error(fmt::format("{}: has no config.toml; name a run folder or a .safetensors file", path.string()));
  }
  return verify_run(run);
}

}  // namespace semfuse
