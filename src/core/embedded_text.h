// A file of the repository that the build puts into the library.
#pragma once

#include <string_view>

namespace semfuse {

struct EmbeddedText {
  std::string_view name;  // Of the file, without its extension.
  std::string_view text;
};

}  // namespace semfuse
