// The levels of a sweep that are measured, on the disk, so that an interrupted sweep can go on.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/knob_sweep.h"

namespace semfuse {

// What decides the numbers of a sweep besides the level, as one line of JSON: the model's weights and knobs, the
// options.
std::string sweep_identity(const LanguageModel& model, const SweepOptions& options);

// What the file holds, by level. Throws Error if the text is something else or of another sweep.
std::map<std::string, std::vector<Realised>> parse_sweep_levels(std::string_view text, std::string_view identity,
                                                                const std::filesystem::path& origin);

// A file of lines: the identity, then {"level", "realised"} for each level that is done.
class SweepLevels {
 public:
  // A file that is missing is made by keep(). Throws Error if it is something else or of another sweep.
  SweepLevels(std::filesystem::path path, std::string identity);

  std::size_t size() const { return levels_.size(); }
  // By the name that sweep_knobs() gives a level.
  std::optional<std::vector<Realised>> find(const std::string& level) const;
  void keep(const std::string& level, const std::vector<Realised>& realised);  // Throws Error.

 private:
  std::filesystem::path path_;
  std::string identity_;
  std::map<std::string, std::vector<Realised>> levels_;
};

}  // namespace semfuse
