// Where the files of a run folder are; no other file has their names.
#pragma once

#include <filesystem>
#include <string>

namespace semfuse {

struct RunFiles {
  std::filesystem::path folder;

  std::filesystem::path model() const { return folder / "model.safetensors"; }
  std::filesystem::path config() const { return folder / "config.toml"; }
  std::filesystem::path lexicon() const { return folder / kLexicon; }
  std::filesystem::path log() const { return folder / "log.jsonl"; }
  std::filesystem::path curves() const { return folder / "log.svg"; }  // What `semfuse log` draws.
  std::filesystem::path checkpoints() const { return folder / "checkpoints"; }
  std::filesystem::path checkpoint_settings() const { return checkpoints() / kCheckpointSettings; }
  std::filesystem::path lock() const { return folder / "lock"; }
  std::filesystem::path judge(const std::string& knob) const { return folder / ("judge-" + knob + ".safetensors"); }
  std::filesystem::path metrics() const { return folder / "metrics.json"; }  // Of a run that a study measured.

  static constexpr const char* kInitialModel = "init.safetensors";  // What a run went on from; so in config.toml too.
  static constexpr const char* kLexicon = "lexicon.tsv";  // What config.toml calls it too; as feature_sources().
  static constexpr const char* kCheckpointSettings = "settings.json";
};

}  // namespace semfuse
