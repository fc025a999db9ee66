// Tokenizers: any text as the tokens that a model reads, and back, byte for byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/vocabulary.h"

namespace semfuse {

// A token of a text: its id, and the bytes [begin, end) of the text that it stands for.
struct Token {
  TokenId id = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool operator==(const Token&) const = default;
};

// How text is cut. Whatever the kind, a word keeps the space before it (" good"), and what it cannot say otherwise it
// says byte by byte, so nothing is ever unknown. The last two come with models of others and are as those have them.
enum class TokenizerKind {
  words,   // The most frequent words, each one token; others in bytes. For short texts of one kind, and to add words.
  pieces,  // Parts of words (byte-level BPE), the frequent ones whole. For text in general.
  bytes,   // Each byte a token: the smallest vocabulary and the longest texts; nothing to train.
  bpe,     // Byte-level BPE with a split pattern of its own, as GPT-2 has.
  spm      // SentencePiece's BPE of characters, as Llama has.
};

std::string_view to_string(TokenizerKind kind);  // "words", "pieces", "bytes", "bpe", "spm"

// A token that stands for no text, and the name by which its model knows it.
struct SpecialToken {
  TokenId id = 0;
  std::string name;  // "<|endoftext|>"

  bool operator==(const SpecialToken&) const = default;
};

// Ids 0, 1, 2 are <pad>, <bos> and <eos>, as Vocabulary has them: they are no text, no text has them as tokens, and
// decode() passes over them. Ids 3 to 258 are the bytes 0 to 255; words or pieces follow.
//
// Of the kinds bpe and spm every id is as the model of others has it, and specials() says which are no text. Some of
// them have characters without a token: they become one unknown token, or none, and text with them does not come back;
// spm may squeeze blanks. Several ids may stand for the same bytes.
//
// Immutable and cheap to copy; const functions may be called from several threads at once.
class Tokenizer {
 public:
  static constexpr TokenId kFirstByte = Vocabulary::kEos + 1;
  static constexpr std::size_t kSmallestSize = kFirstByte + 256;  // The size of the kind `bytes`.

  static Tokenizer bytes();

  // Reads what to_json() wrote, a tokenizer.json also after Hugging Face's `tokenizers` has loaded and saved it. Throws
  // Error (origin, what, what to do) for every other text, among them tokenizers that were trained elsewhere, which an
  // import reads.
  static Tokenizer parse(std::string_view json, std::string_view origin);
  static Tokenizer load(const std::filesystem::path& path);

  TokenizerKind kind() const;
  // Whether a text is read as if a blank stood before it, which decode() takes away again, so that its first word is
  // the same token as anywhere else. An empty text stays empty. The blank is in no token's bytes of the text: a token
  // that is nothing but this blank has none.
  bool leading_blank() const;
  std::size_t size() const;
  // The bytes that each token stands for, by id, each different; empty for <pad>, <bos>, <eos>.
  const std::vector<std::string>& surfaces() const;
  // Those that stand for no text, in the order of their ids.
  std::vector<SpecialToken> specials() const;
  // The same as a Vocabulary, which has names for the three: for a model of this tokenizer. Its encode() is of no use
  // here, since it knows whole words only. Throws Error for bpe and spm, which have other specials.
  Vocabulary vocabulary() const;

  // Any bytes: the tokens' bytes follow each other from 0 to the end of the text. No <bos>, no <eos>. Throws Error if
  // the text has 4 GB or more.
  std::vector<Token> encode(std::string_view text) const;
  // The same in place of what `tokens` held, whose memory is used again: for many short texts.
  void encode(std::string_view text, std::vector<Token>& tokens) const;
  // The same, but the names of special tokens in the text become those tokens. For text that its writer may be trusted
  // with: whoever writes "<eos>" here ends the text.
  std::vector<Token> encode_with_specials(std::string_view text) const;
  // The inverse: decode(ids of encode(text)) == text. Throws Error if an id is not one of the tokenizer's.
  std::string decode(std::span<const TokenId> ids) const;
  std::string decode(std::span<const Token> tokens) const;

  // A copy with more words, whose ids are appended; a text that has them is then cut otherwise. `surfaces` are as those
  // of the tokenizer: with the space before a word, if there is one. Throws Error unless it is of words, and for a
  // surface that it has already or would never cut in one piece.
  Tokenizer with_words(std::span<const std::string> surfaces) const;

  // A tokenizer.json for Hugging Face's `tokenizers`, which gives the same ids for every text that is UTF-8. The three
  // special entries are in its vocabulary only, so that it too takes "<eos>" in a text for text. Of bpe and spm it is a
  // JSON that only parse() reads.
  std::string to_json() const;

 private:
  friend class TokenizerTrainer;
  friend class ForeignTokenizers;
  struct State;
  explicit Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace semfuse
