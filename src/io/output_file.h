// What would fail after minutes of work is asked before it: whether a file can be written where it is to go.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>

namespace semfuse {

// Throws Error if the path is empty or a folder, or if its folder is missing or cannot be written. Writes nothing.
void require_writable(const std::filesystem::path& path);

// The same for a file that a command makes anew: throws Error too if something is there.
void require_new_file(const std::filesystem::path& path);

// The same for one that a command may write again: a file that is there must begin with one of these. `what` it then
// is, for the message: "an SVG".
void require_own_file(const std::filesystem::path& path, std::initializer_list<std::string_view> beginnings,
                      std::string_view what);

}  // namespace semfuse
