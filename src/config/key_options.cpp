#include "config/key_options.h"

#include <fmt/format.h>

#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {

void set_from_option(Experiment& experiment, std::string_view option, std::string_view key,
                     const std::optional<std::string>& text) {
  if (!text) return;
  try {
    set_key(experiment, fmt::format("{}={}", key, *text));
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", option, error.what()));
  }
}

void apply_settings(Experiment& experiment, const std::vector<std::string>& assignments, std::string_view section) {
  for (const std::string& assignment : assignments) {
    const std::string prefix = std::string(section) + '.';
    if (!section.empty() && !assignment.starts_with(prefix)) {
      throw Error(fmt::format("--set {}: only {}* keys matter here, as {}kernel_base=0.8", quoted_text(assignment),
                              prefix, prefix));
    }
    try {
      set_key(experiment, assignment);
    } catch (const Error& error) {
      throw Error(fmt::format("--set: {}", error.what()));
    }
  }
}

}  // namespace semfuse
