#include "run/checkpoint_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "io/file.h"
#include "io/json.h"
#include "run/run_files.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kSuffix = ".safetensors";
constexpr std::size_t kMaxSettingsBytes = 4096;

// The step of "step-00000200.safetensors"; nothing for any other name.
std::optional<std::uint64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  std::uint64_t step = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (code != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return step;
}

}  // namespace

CheckpointSettings parse_checkpoint_settings(std::string_view text, const std::string& origin) {
  const nlohmann::json json = parse_json(text, origin);
  const auto number = [&](const char* name) {
    if (!json.is_object() || !json.contains(name) || !json[name].is_number_unsigned() || json[name] == 0U) {
      throw Error(fmt::format("{}: \"{}\" is no whole number above 0; mend or remove the file", origin, name));
    }
    return json[name].get<std::uint64_t>();
  };
  CheckpointSettings settings{.every = number("every"), .keep = number("keep")};
  if (json.contains("calibrate")) {
    if (!json["calibrate"].is_boolean()) {
      throw Error(fmt::format("{}: \"calibrate\" is neither true nor false; mend or remove the file", origin));
    }
    settings.calibrate = json["calibrate"].get<bool>();
  }
  return settings;
}

CheckpointStore::CheckpointStore(fs::path folder, FileLayer& files) : folder_(std::move(folder)), files_(files) {}

fs::path CheckpointStore::path_of(std::uint64_t step) const {
  return folder_ / fmt::format("{}{:08}{}", kPrefix, step, kSuffix);
}

std::vector<CheckpointStore::Entry> CheckpointStore::list() const {
  std::vector<Entry> entries;
  std::error_code ignored;
  for (fs::directory_iterator file(folder_, ignored), end; file != end; file.increment(ignored)) {
    if (const auto step = step_of(file->path().filename().string())) entries.push_back({*step, file->path()});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.step > b.step; });
  return entries;
}

fs::path CheckpointStore::save(const LanguageModel& model, const TrainingState& state, const Experiment& experiment,
                               std::uint64_t keep) {
  std::error_code ignored;
  fs::create_directory(folder_, ignored);  // The write below says what is wrong if this fails.
  fs::path path = path_of(state.step);
  save_training_checkpoint(path, model, state, experiment, files_);
  std::uint64_t kept = 0;
  for (const Entry& entry : list()) {
    // A later one is from a time before this training went back; it says nothing about how many whole ones there are.
    if (entry.step <= state.step && ++kept > keep) files_.unlink(entry.path);
  }
  return path;
}

CheckpointStore::Found CheckpointStore::find_newest() const {
  Found found;
  for (const Entry& entry : list()) {
    try {
      TrainingCheckpoint checkpoint = load_training_checkpoint(entry.path);
      if (checkpoint.state.step != entry.step) {
        throw Error(fmt::format("{}: holds step {}, not that of its name", entry.path.string(), checkpoint.state.step));
      }
      found.checkpoint = std::move(checkpoint);
      found.path = entry.path;
      return found;
    } catch (const Error& error) {
      found.damaged.push_back({entry.path, error.what()});
    }
  }
  return found;
}

void CheckpointStore::set_aside(const std::vector<Damage>& damaged) {
  for (const Damage& damage : damaged) {
    fs::path name = damage.path;
    name += ".damaged";
    files_.rename(damage.path, name);
  }
}

void CheckpointStore::remove_temporary_files() {
  semfuse::remove_temporary_files(folder_);
}

CheckpointSettings CheckpointStore::load_settings() const {
  const fs::path path = folder_ / RunFiles::kCheckpointSettings;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  return parse_checkpoint_settings(read_text(path, kMaxSettingsBytes), path.string());
}

void CheckpointStore::save_settings(const CheckpointSettings& settings) {
  std::error_code ignored;
  fs::create_directory(folder_, ignored);
  write_atomically(folder_ / RunFiles::kCheckpointSettings,
                   fmt::format("{{\"every\": {}, \"keep\": {}{}}}\n", settings.every, settings.keep,
                               settings.calibrate ? "" : ", \"calibrate\": false"),
                   files_);
}

std::vector<fs::path> temporary_files(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (fs::directory_iterator file(folder, ignored), end; file != end; file.increment(ignored)) {
    if (file->path().filename().string().find(kTemporaryMark) != std::string::npos) found.push_back(file->path());
  }
  return found;
}

void remove_temporary_files(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::path& path : temporary_files(folder)) fs::remove(path, ignored);
}

}  // namespace semfuse
