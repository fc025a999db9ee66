#include "text/spm_pieces.h"

#include <fmt/format.h>

#include <cmath>

#include "io/byte_reader.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kLongestPiece = 1000;  // Bytes: looking for its halves takes the square.

int hexadecimal(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// Without the line ends that llama2.c puts around "<s>".
std::string trimmed(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text);
}

// The older form has the 256 bytes as pieces of one character each, those from 128 on as if they were Latin-1; ASCII
// characters are there a second time, further on.
bool has_bare_bytes(const std::vector<SpmPiece>& pieces) {
  constexpr std::size_t kFirst = 3;
  if (pieces.size() < kFirst + 256) return false;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::string latin = {static_cast<char>(0xC0 | byte >> 6), static_cast<char>(0x80 | (byte & 0x3F))};
    if (pieces[kFirst + byte].text != (byte < 0x80 ? std::string(1, static_cast<char>(byte)) : latin)) return false;
  }
  return true;
}

}  // namespace

SpmType spm_type(double number, std::string_view origin) {
  if (!(number >= 1 && number <= 6) || number != std::floor(number)) {
    throw Error(fmt::format("{}: a token has the type {}, not one of 1 to 6; fetch the file again", origin, number));
  }
  return static_cast<SpmType>(static_cast<int>(number));
}

int byte_of_name(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || !text.ends_with('>')) return -1;
  const int high = hexadecimal(text[3]);
  const int low = hexadecimal(text[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

std::string with_blanks(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const bool is_blank = text.starts_with(kBlankMark);
    result += is_blank ? ' ' : text[0];
    text.remove_prefix(is_blank ? kBlankMark.size() : 1);
  }
  return result;
}

ForeignParts spm_parts(const std::vector<SpmPiece>& pieces, std::string_view origin) {
  const auto refuse = [&](std::string_view what) {
    throw Error(fmt::format("{}: {}; the tokenizer is damaged, fetch it again", origin, what));
  };
  ForeignParts parts;
  parts.kind = TokenizerKind::spm;
  std::vector<TokenId> bytes(256, -1);
  std::vector<double> scores;
  std::vector<bool> mergeable;
  bool has_bytes = false;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const SpmPiece& piece = pieces[i];
    const auto id = static_cast<TokenId>(i);
    std::string surface;
    if (piece.type == SpmType::control || piece.type == SpmType::unknown) {
      if (piece.type == SpmType::unknown && !parts.unknown) parts.unknown = id;
      if (!piece.text.empty()) parts.added.push_back({id, trimmed(piece.text), true});
    } else if (piece.type == SpmType::byte) {
      const int byte = piece.text.size() == 1 ? static_cast<unsigned char>(piece.text[0]) : byte_of_name(piece.text);
      if (byte < 0) refuse(fmt::format("entry {} {} is no byte", i, quoted_text(piece.text)));
      has_bytes = true;
      bytes[static_cast<std::size_t>(byte)] = id;
      surface = std::string(1, static_cast<char>(byte));
    } else if (piece.type != SpmType::unused) {
      surface = with_blanks(piece.text);
      if (piece.type == SpmType::user_defined && !surface.empty()) parts.added.push_back({id, surface, false});
    }
    if (surface.size() > kLongestPiece) refuse(fmt::format("entry {} has {} bytes", i, surface.size()));
    if (std::isnan(piece.score)) refuse(fmt::format("entry {} has no score", i));
    parts.surfaces.push_back(std::move(surface));
    scores.push_back(piece.score);
    mergeable.push_back(piece.type == SpmType::normal);
  }
  if (has_bytes) parts.byte_ids = std::move(bytes);
  for (const TokenId id : parts.byte_ids) {
    if (id < 0) refuse("has tokens for some bytes, but not for all");
  }
  if (parts.surfaces.size() > kMaxTokenizerSize) refuse(fmt::format("has {} entries", parts.surfaces.size()));
  merge_by_scores(parts, scores, mergeable);
  return parts;
}

ForeignParts parse_llama2c_tokenizer(std::span<const std::byte> file, std::string_view origin) {
  ByteReader reader(file, std::string(origin));
  const auto longest = reader.number<std::int32_t>("length of the longest token");
  if (longest < 1) reader.fail(fmt::format("the longest token has {} bytes", longest), "this is no tokenizer.bin");
  std::vector<SpmPiece> pieces;
  while (reader.left() > 0) {
    SpmPiece piece;
    piece.score = reader.number<float>("score");
    const auto length = reader.number<std::int32_t>("length of a token");
    if (length < 0 || length > longest) {
      reader.fail(fmt::format("token {} has {} bytes, though the longest has {}", pieces.size(), length, longest),
                  "this is no tokenizer.bin, or it is damaged");
    }
    piece.text = reader.text(static_cast<std::size_t>(length), "a token");
    pieces.push_back(std::move(piece));
    if (pieces.size() > kMaxTokenizerSize) reader.fail("has too many tokens", "this is no tokenizer.bin");
  }
  if (pieces.size() < 4) reader.fail(fmt::format("has {} tokens", pieces.size()), "this is no tokenizer.bin");
  const bool bare_bytes = has_bare_bytes(pieces);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i < 3) pieces[i].type = i == 0 ? SpmType::unknown : SpmType::control;
    if (bare_bytes && i >= 3 && i < 259) pieces[i].text = std::string(1, static_cast<char>(i - 3));
    const bool is_byte = bare_bytes ? i < 259 : byte_of_name(pieces[i].text) >= 0;
    if (i >= 3 && is_byte) pieces[i].type = SpmType::byte;
  }
  ForeignParts parts = spm_parts(pieces, origin);
  parts.prefix_blank = true;
  return parts;
}

}  // namespace semfuse
