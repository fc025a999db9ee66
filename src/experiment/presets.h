// The texts of presets/*.toml, which the build puts into the library.
#pragma once

#include <string_view>
#include <vector>

namespace semfuse {

struct EmbeddedPreset {
  std::string_view name;
  std::string_view text;
};

const std::vector<EmbeddedPreset>& embedded_presets();

}  // namespace semfuse
