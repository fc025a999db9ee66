// Cuts text into words, as GPT-2 does: the pieces end to end are the text.
//
// A word is a run of letters, of numbers, or of other marks, with the space before it; an English ending ('s 't 're 've
// 'm 'll 'd); or a run of spaces, which leaves the last one to the word that follows. As a regular expression:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// A byte that is not UTF-8 counts as a mark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace semfuse {

enum class CharacterClass : std::uint8_t { letter, number, space, other };

// Of a Unicode character.
CharacterClass character_class(char32_t code);

// Bytes of the first word of a text; 0 if the text is empty. Looks no further than it must: cutting a text is linear.
std::size_t first_word_length(std::string_view text);

// The same if a blank stood before the text: bytes of the text, so the blank not among them. 0 if it is a word by
// itself.
std::size_t first_word_length_after_blank(std::string_view text);

}  // namespace semfuse
