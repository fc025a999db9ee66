// What a bracket behind a name in a grammar says: a setting, one that is misspelt, or something else.
#pragma once

#include <string_view>

namespace semfuse {

// The knob's name if the text begins with one and "=" ("polarity = 0.9]"), else empty.
std::string_view name_of_setting(std::string_view text);

// The same for what was probably meant so: "polarity 0.9]", "polarity: .9]".
std::string_view name_of_misspelt_setting(std::string_view text);

}  // namespace semfuse
