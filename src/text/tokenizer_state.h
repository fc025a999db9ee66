// What a Tokenizer holds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/foreign_coder.h"
#include "text/piece_cutter.h"
#include "text/surface_table.h"
#include "text/tokenizer_parts.h"

namespace semfuse {

struct Tokenizer::State {
  explicit State(TokenizerParts parts_in);
  explicit State(ForeignParts foreign_parts);
  State(const State&) = delete;  // The table refers to the parts.
  State& operator=(const State&) = delete;

  const std::string& surface(TokenId id, std::size_t index) const;
  // Of words and pieces.
  void append_word(std::string_view word, std::uint32_t begin, std::vector<Token>& tokens) const;

  std::string without_leading_blank(std::string text) const;

  TokenizerParts parts;
  std::optional<SurfaceTable> words;
  std::optional<PieceCutter> pieces;
  std::optional<ForeignCoder> foreign;  // Of bpe and spm; the parts then have the surfaces only.
};

// Makes tokenizers of models of others.
class ForeignTokenizers {
 public:
  // Throws Error (origin: what; what to do).
  static Tokenizer make(ForeignParts parts, std::string_view origin);
  // nullptr if it is one of our own kinds. Valid as long as the tokenizer.
  static const ForeignParts* parts(const Tokenizer& tokenizer);
};

}  // namespace semfuse
