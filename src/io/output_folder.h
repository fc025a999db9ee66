// A folder for what one command writes: a new one, or one that was empty.
#pragma once

#include <filesystem>
#include <vector>

namespace semfuse {

class OutputFolder {
 public:
  // The path without a slash at its end. Throws Error if something is there that is not an empty folder, or the name
  // is unusable; makes nothing.
  static std::filesystem::path checked(const std::filesystem::path& path);

  // Makes the folder and those above it where they are missing. Throws Error as checked(), or if it cannot; then
  // nothing is left behind.
  explicit OutputFolder(const std::filesystem::path& path);
  ~OutputFolder();  // Removes the folders that it made, unless something was written into them.
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  void remove_empty();

  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  // The outermost first.
};

}  // namespace semfuse
