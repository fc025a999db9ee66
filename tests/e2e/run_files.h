// What a run folder holds, as tests compare it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "run/checkpoint_store.h"
#include "support/process.h"

namespace semfuse {

// Every line of a log must be JSON by itself.
inline std::vector<nlohmann::json> log_of(const std::string& run) {
  const std::string text = Process::text(run + "/log.jsonl");
  EXPECT_THAT(text, testing::EndsWith("\n"));
  std::vector<nlohmann::json> events;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) events.push_back(nlohmann::json::parse(line));
  return events;
}

// The log without the one thing that differs from time to time.
inline std::vector<nlohmann::json> timeless_log_of(const std::string& run) {
  std::vector<nlohmann::json> events = log_of(run);
  for (nlohmann::json& event : events) event.erase("tokens_per_second");
  return events;
}

// Without the two that frame it.
inline std::vector<nlohmann::json> steps_and_evaluations_of(const std::string& run) {
  std::vector<nlohmann::json> events = log_of(run);
  std::erase_if(events, [](const auto& event) { return event["event"] == "start" || event["event"] == "finished"; });
  return events;
}

// Takes the end of a run away, as if it had been killed after the checkpoint of a step.
inline void rewind_run(const std::string& run, std::uint64_t step) {
  for (const CheckpointStore::Entry& entry : CheckpointStore(run + "/checkpoints").list()) {
    if (entry.step > step) std::filesystem::remove(entry.path);
  }
  std::string log = Process::text(run + "/log.jsonl");
  log.resize(std::min(log.size(), log.find("{\"event\":\"finished\"")));
  std::ofstream(run + "/log.jsonl") << log;
}

// Every file below a folder with its bytes.
inline std::map<std::string, std::string> tree_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      files[entry.path().lexically_relative(folder).string()] = Process::text(entry.path().string());
  }
  return files;
}

inline std::string checkpoint_path(const std::string& run, int step) {
  std::string digits = std::to_string(step);
  digits.insert(0, 8 - digits.size(), '0');
  return run + "/checkpoints/step-" + digits + ".safetensors";
}

inline void damage(const std::string& path) {
  std::string bytes = Process::text(path);
  ASSERT_FALSE(bytes.empty()) << path;
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace semfuse
