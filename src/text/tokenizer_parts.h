// What a tokenizer is made of, and its file.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/tokenizer.h"

namespace semfuse {

inline constexpr std::size_t kMaxTokenizerSize = std::size_t{1} << 20;  // Entries.

inline constexpr std::array<std::string_view, 3> kSpecials = {"<pad>", "<bos>", "<eos>"};  // By id.

// Two tokens that become one wherever they stand side by side inside a word.
struct Merge {
  TokenId left = 0;
  TokenId right = 0;
  TokenId result = 0;

  bool operator==(const Merge&) const = default;
};

struct TokenizerParts {
  TokenizerKind kind = TokenizerKind::bytes;
  bool leading_blank = false;         // Of words and pieces: see Tokenizer::leading_blank().
  std::vector<std::string> surfaces;  // By id: three empty ones, 256 bytes, then words or pieces.
  std::vector<Merge> merges;  // Of pieces, one for each after the bytes, in their order; the first is applied first.

  // The specials and the bytes.
  static TokenizerParts of_bytes();
};

// tokenizer.json, see Tokenizer::to_json() and parse().
std::string tokenizer_json(const TokenizerParts& parts);
TokenizerParts parse_tokenizer_json(std::string_view json, std::string_view origin);

}  // namespace semfuse
