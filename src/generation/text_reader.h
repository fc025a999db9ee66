// One text as one model reads it, asked for this or that.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "features/token_features.h"
#include "model/stream_pass.h"
#include "semfuse/language_model.h"

namespace semfuse {

// Streams with their memory, for one sentence after the other.
class StreamPool {
 public:
  // Streams begin with a copy of that cache.
  explicit StreamPool(KeyValueCache empty) : empty_(std::move(empty)) {}

  std::unique_ptr<TokenStream> take();
  // Frees one that has grown large.
  void give_back(std::unique_ptr<TokenStream> stream);

 private:
  KeyValueCache empty_;
  std::vector<std::unique_ptr<TokenStream>> idle_;
};

// A stream for each of the last requests. A request that was not needed for some words catches up with them.
class TextReader {
 public:
  // Both must outlive it.
  TextReader(const LanguageModel& model, StreamPool& pool);
  TextReader(const TextReader&) = delete;
  TextReader& operator=(const TextReader&) = delete;
  ~TextReader();

  // Of all streams asked for after a call, none is given up before the next one. The text only grows.
  void begin(std::span<const TokenId> tokens);
  // The stream of that request with the text so far, without guesses. So many of the first tokens are what other texts
  // may begin with.
  TokenStream& read(const std::vector<float>& request, std::size_t num_shared);

  // The rows of the text so far, to go on from for a guess; none if rows look ahead or there are none.
  const std::optional<TokenCursor>& token_rows() const { return token_rows_; }

 private:
  // Rows of the text so far: one more for each token more, unless features look ahead.
  void read_features();
  // At least for those of this call, and for the request and for none.
  std::size_t most_streams() const;

  const LanguageModel& model_;
  StreamPool& pool_;
  std::span<const TokenId> tokens_;
  std::optional<TokenCursor> token_rows_;              // Of the tokens whose rows are known; none if they look ahead.
  std::vector<float> features_;                        // [tokens, num_features]
  std::vector<std::unique_ptr<TokenStream>> streams_;  // The last one asked for first.
  std::size_t num_asked_ = 0;                          // Since begin().
};

}  // namespace semfuse
