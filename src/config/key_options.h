// Keys of an experiment as options and requests give them; what is wrong is said with the option's name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/experiment.h"

namespace semfuse {

// Gives an option's text to a key. Throws Error as "--seed: seed is -1; it must be ...". Without a text the key stays.
void set_from_option(Experiment& experiment, std::string_view option, std::string_view key,
                     const std::optional<std::string>& text);

// Applies `--set KEY=VALUE ...` in order; with a section ("features"), keys of others are refused.
void apply_settings(Experiment& experiment, const std::vector<std::string>& assignments, std::string_view section = "");

}  // namespace semfuse
