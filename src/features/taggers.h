// The bytes of taggers/*.tagger, which the build puts into the library.
#pragma once

#include <vector>

#include "core/embedded_text.h"

namespace semfuse {

const std::vector<EmbeddedText>& embedded_taggers();

}  // namespace semfuse
