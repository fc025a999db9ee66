// Tokenizers as Hugging Face's libraries keep them: tokenizer.json, or vocab.json with merges.txt.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/foreign_parts.h"

namespace semfuse {

// What normalizers of a tokenizer that squeezes blanks replace.
inline constexpr const char* kOuterBlanks = R"(\A +| +\z)";
inline constexpr const char* kSeveralBlanks = " {2,}";

struct HfTokenizer {
  ForeignParts parts;
  std::optional<TokenId> bos;  // What is put before a text, if the file says so.
};

// A tokenizer.json of BPE, byte-level (GPT-2, SmolLM2, Llama 3) or SentencePiece-like (Llama 2). Throws Error for what
// is not JSON of that kind, and by name for types of models, normalisers, pre-tokenizers and processors that cannot be
// read.
HfTokenizer parse_hf_tokenizer(std::string_view json, std::string_view origin);

// GPT-2's two files. Throws Error.
ForeignParts parse_vocab_and_merges(std::string_view vocab_json, std::string_view merges_txt, std::string_view origin);

// A tokenizer.json that Hugging Face's `tokenizers` loads and that gives the same ids. `bos` is put before every text.
std::string hf_tokenizer_json(const ForeignParts& parts, std::optional<TokenId> bos);

}  // namespace semfuse
