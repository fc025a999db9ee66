// Token ids as text from outside.
#pragma once

#include <string_view>
#include <vector>

#include "semfuse/vocabulary.h"

namespace semfuse {

// Ids as `{"ids": [5, 17], ...}`, as `[5, 17]`, or as numbers between spaces, commas and line ends; empty text has
// none. Whether some tokenizer has them is not looked at. Throws Error (origin, what, what to do).
std::vector<TokenId> parse_token_ids(std::string_view text, std::string_view origin);

}  // namespace semfuse
