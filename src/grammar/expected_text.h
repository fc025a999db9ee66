// What a grammar could read next, in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grammar/configurations.h"

namespace semfuse {

// Quoted texts up to the end of a word, character classes, and "end of text"; at most `limit`, then "...". A text that
// goes on with the letters of `word_begun` is shown together with it.
std::vector<std::string> expected_texts(Configurations& configurations, ConfigurationId at, std::string_view word_begun,
                                        std::size_t limit = 12);

bool is_word_byte(char c);

}  // namespace semfuse
