// The known word that a misspelt one was probably meant to be, for error messages.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace semfuse {

// The candidate with the fewest edits (insert, delete, replace or swap neighbours; letter case is free) from `word`;
// the first of equals. Nothing if even that one needs more than one edit for three letters of the longer of the two.
// Never with more than `most_edits`.
std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> candidates,
                                        std::size_t most_edits = std::string::npos);

// The end of an error message: "; did you mean "good"?", or nothing if no candidate is close.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates,
                         std::size_t most_edits = std::string::npos);

}  // namespace semfuse
