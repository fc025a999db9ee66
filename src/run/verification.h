// Checks files that semfuse wrote: structure, checksum, finite numbers, and that the files of a run belong together.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace semfuse {

struct Finding {
  std::filesystem::path path;
  bool whole = false;
  std::string text;  // What was checked, or what is wrong; without the path.
};

// One finding for a .safetensors file; for a run folder one for each of its files. A folder that no training wrote may
// hold a model alone. Throws Error if there is nothing at the path or it is no run.
std::vector<Finding> verify(const std::filesystem::path& path);

}  // namespace semfuse
