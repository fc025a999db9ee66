// What a tokenizer of somebody else's model is made of, and how it is kept in a model file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/tokenizer.h"
#include "text/tokenizer_parts.h"

namespace semfuse {

inline constexpr std::string_view kBlankMark = "\xE2\x96\x81";  // U+2581, which SentencePiece takes for a blank.

// A token that is looked for in the text as it stands, before anything else.
struct AddedToken {
  TokenId id = 0;
  std::string text;
  bool is_special = true;  // Only if asked for: plain text does not have it.

  bool operator==(const AddedToken&) const = default;
};

struct ForeignParts {
  TokenizerKind kind = TokenizerKind::bpe;  // Or spm.
  std::vector<std::string> surfaces;        // By id; empty for special tokens and for ids that no text has.
  std::vector<AddedToken> added;
  // Symbols beyond the surfaces, which texts begin as and which are no tokens: characters of spm. They count on from
  // the last id.
  std::vector<std::string> characters;
  std::vector<Merge> merges;         // Each joins the bytes of two; ids of surfaces and characters.
  std::vector<std::uint32_t> ranks;  // Of the merges: the lowest is applied first. Of bpe none: their order.
  bool prefix_blank = false;         // A text is read as if a blank stood before it.

  // Of bpe.
  std::vector<std::string> patterns;  // Text is cut by the first, what comes of that by the second, ...
  bool whole_words = false;           // What was cut out and is a token is that token, whatever the merges say.

  // Of spm: ids of the bytes 0 to 255, or none; what stands for a character that has no token and no bytes.
  std::vector<TokenId> byte_ids;
  std::optional<TokenId> unknown;
  bool squeezes_blanks = false;  // Those at both ends go, of several in a row one stays.

  bool operator==(const ForeignParts&) const = default;
};

// Throws Error (origin: what; what to do) unless ids, merges and texts fit each other.
void check(const ForeignParts& parts, std::string_view origin);

// Pairs of pieces whose text together is a piece, for all pieces of which `mergeable` says so: SentencePiece's rule,
// where the higher score goes first. Fills characters, merges and ranks.
void merge_by_scores(ForeignParts& parts, const std::vector<double>& scores, const std::vector<bool>& mergeable);

// As JSON with a "kind", for the metadata of a model file.
std::string foreign_json(const ForeignParts& parts);
// The inverse; throws Error.
ForeignParts parse_foreign_json(std::string_view json, std::string_view origin);
// Does the JSON have a "kind"? Looks at its beginning only.
bool is_foreign_json(std::string_view json);

}  // namespace semfuse
