#include "semfuse/language_model.h"

namespace semfuse {

std::string_view to_string(AttentionMask mask) { return mask == AttentionMask::causal ? "causal" : "bidirectional"; }

}  // namespace semfuse
