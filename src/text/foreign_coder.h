// Text as the tokens of somebody else's model: byte-level BPE or SentencePiece's.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/foreign_parts.h"
#include "text/piece_cutter.h"
#include "text/split_pattern.h"
#include "text/surface_table.h"

namespace semfuse {

// const functions may be called from several threads at once.
class ForeignCoder {
 public:
  // The parts must be checked. Throws Error for a split pattern that is none.
  explicit ForeignCoder(ForeignParts parts);
  ForeignCoder(const ForeignCoder&) = delete;  // Tables refer to the parts.
  ForeignCoder& operator=(const ForeignCoder&) = delete;

  const ForeignParts& parts() const { return parts_; }

  // Appends the tokens of a text; `with_specials` says whether special tokens are looked for. What has no token, a byte
  // of bpe, is passed over.
  void encode(std::string_view text, bool with_specials, std::vector<Token>& tokens) const;

 private:
  using Ids = std::unordered_map<std::string_view, TokenId>;

  // Added tokens: by text, and the lengths of those that begin with a byte, the longest first.
  struct Finder {
    Ids ids;
    std::array<std::vector<std::size_t>, 256> lengths;
    void add(const AddedToken& token);
    TokenId find(std::string_view text, std::size_t& length) const;  // At its beginning; -1 if there is none.
  };

  PieceCutter::Symbols symbols() const;
  void encode_plain(std::string_view text, std::uint32_t begin, std::vector<Token>& tokens) const;
  void encode_bpe(std::string_view text, std::vector<Token>& tokens) const;
  void encode_spm(std::string_view text, std::vector<Token>& tokens) const;
  void append_known(std::string_view text, const std::vector<Token>& symbols, std::vector<Token>& tokens) const;

  ForeignParts parts_;
  std::array<TokenId, 256> byte_symbols_ = {};  // Of bpe; -1 if the byte has none.
  Ids character_symbols_;                       // Of spm.
  Finder plain_;
  Finder all_;
  std::vector<SplitPattern> patterns_;
  SurfaceTable words_;
  bool cuts_words_ = false;  // Of spm: no piece goes on behind a blank that follows something else.
  PieceCutter cutter_;
};

}  // namespace semfuse
