// What `--help` prints, fitted to a width. Seen by command_line.cpp alone.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace semfuse {

// "semfuse words add"
std::string full_name(const CLI::App& app);

// The commands of a program or of a command, in their order.
std::vector<const CLI::App*> commands_of(const CLI::App& app);

// No line is longer than `width`. Footers are paragraphs, which are broken anew, and indented examples, which are
// continued by a backslash as a shell reads them.
std::string help_text(const CLI::App& app, std::size_t width);

}  // namespace semfuse
