// Options of the command line that end in an Experiment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/key_options.h"
#include "semfuse/experiment.h"

namespace semfuse {

// Reads an option that is a whole number; nothing without a text. Throws Error.
std::optional<std::uint64_t> parse_whole_number(std::string_view option, const std::optional<std::string>& text,
                                                std::uint64_t low, std::uint64_t high);

// The same of a number that is finite.
std::optional<double> parse_number(std::string_view option, const std::optional<std::string>& text);

// Reads `--threads`: 0, one for each processor, without a text. Throws Error.
std::size_t parse_threads(const std::optional<std::string>& text);

// The parts of options that may be repeated or have commas.
std::vector<std::string> split_at_commas(const std::vector<std::string>& texts);

// Throws Error that names the command's purpose ("comparing runs") if the experiment's texts are files.
void require_synthetic(const Experiment& experiment, std::string_view path, std::string_view purpose);

}  // namespace semfuse
