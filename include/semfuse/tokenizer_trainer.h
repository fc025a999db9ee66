// Makes tokenizers from the texts that they are to be used on.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "semfuse/tokenizer.h"

namespace semfuse {

// Counts words, then makes tokenizers of them:
//
//   TokenizerTrainer trainer;
//   for (const std::string& text : texts) trainer.add(text);
//   const Tokenizer tokenizer = trainer.make(TokenizerKind::pieces, 8000);
//
// The same texts give the same tokenizer, in any order, as long as they have no more than `max_words` different words.
// From there on the rarest are forgotten again and again, so that memory stays bounded (by about 100 bytes a word);
// words that are counted near that limit may then come out rarer than they are. One thread at a time.
class TokenizerTrainer {
 public:
  static constexpr std::size_t kMostWords = std::size_t{1} << 19;

  // Fewer words for a machine with little memory, more for text in many languages. With `leading_blank` texts are read,
  // and by the tokenizers too, as Tokenizer::leading_blank() says.
  explicit TokenizerTrainer(std::size_t max_words = kMostWords, bool leading_blank = false);
  TokenizerTrainer(TokenizerTrainer&&) noexcept;
  TokenizerTrainer& operator=(TokenizerTrainer&&) noexcept;
  ~TokenizerTrainer();

  // Any bytes. Words of more than 256 bytes are no words of a language, and are passed over.
  void add(std::string_view text);
  // What another one has counted: for texts that were shared out to threads.
  void add(const TokenizerTrainer& other);

  // Has at most `size` entries, with the specials and the bytes; fewer if the texts have no more words or pieces that
  // occur twice. Of equally frequent words the first in the order of their bytes comes first; of pieces, the pair with
  // the smaller ids. Pieces of texts that have none are bytes, and of that kind. Throws Error if the size is below
  // Tokenizer::kSmallestSize or above a million.
  Tokenizer make(TokenizerKind kind, std::size_t size) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace semfuse
