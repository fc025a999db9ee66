// SentencePiece's pieces: a list of texts with scores and types, as three file formats have them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/foreign_parts.h"

namespace semfuse {

enum class SpmType { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct SpmPiece {
  std::string text;  // Blanks as U+2581 or as they are; bytes as "<0x2C>", or the byte itself.
  double score = 0;
  SpmType type = SpmType::normal;
};

// Type numbers as files have them. Throws Error for others.
SpmType spm_type(double number, std::string_view origin);

// The tokenizer that they make: prefix_blank and squeezes_blanks are yet to be said. Throws Error.
ForeignParts spm_parts(const std::vector<SpmPiece>& pieces, std::string_view origin);

// "<0x2C>" as the byte; -1 if the text is none.
int byte_of_name(std::string_view text);

// With U+2581 as blanks.
std::string with_blanks(std::string_view text);

// A SentencePiece .model file (BPE, or one piece a character) as a tokenizer. Throws Error, by name, for kinds and
// normalisers that cannot be read.
ForeignParts parse_spm_model(std::span<const std::byte> file, std::string_view origin);

// A tokenizer.bin of llama2.c, older (bytes as they are) or newer.
ForeignParts parse_llama2c_tokenizer(std::span<const std::byte> file, std::string_view origin);

}  // namespace semfuse
