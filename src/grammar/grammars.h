// The texts of grammars/*.gbnf, which the build puts into the library.
#pragma once

#include <vector>

#include "core/embedded_text.h"

namespace semfuse {

const std::vector<EmbeddedText>& embedded_grammars();

}  // namespace semfuse
