// Where the logits of a text's next token come from: models read the text, and a source combines what they say. Every
// method of steering is one; rules, grammar and sampler come after it and are the same for all.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/matrix_view.h"
#include "generation/read_model.h"
#include "generation/request_rows.h"
#include "semfuse/generator.h"

namespace semfuse {

struct TokenStream;

// One of the ways in which a text is read: by a model that is asked for something.
struct Reading {
  const ReadModel* model = nullptr;  // Null: the generator's own.
  std::vector<float> request;        // As TokenStream::request; empty: nothing is asked for.
  // What is said after each of so many of the last tokens is wanted; as many as the text has, at most.
  std::size_t num_rows = 1;
};

// What a reading came to, a row for each token that was wanted: the last is for the next token.
struct ReadRows {
  Matrix logits;                        // [num_rows, vocab_size]
  ConstMatrix hidden;                   // [num_rows, width]: the states that the logits were computed from.
  const TokenStream* stream = nullptr;  // The text as it was read, with the keys and values of its tokens.

  std::span<float> next() const { return {logits.row(logits.rows() - 1), logits.cols()}; }
  std::span<const float> next_hidden() const { return {hidden.row(hidden.rows() - 1), hidden.cols()}; }
};

// Where the next token is about to stand.
struct SourcePlace {
  std::span<const TokenId> tokens;  // <bos> and what follows, the prompt included.
  const TokenSet* allowed;          // What the grammar allows; null without a grammar.
};

// What a source knows of one text. One thread at a time.
class TextState {
 public:
  virtual ~TextState() = default;

  // Adds what must be read for the next token after `tokens`; `asked` stays valid as long as the state. The first
  // reading is that of the generator's own model, whose logits combine() turns into those of the source.
  virtual void add_readings(std::span<const TokenId> tokens, const RequestRows::Asked& asked,
                            std::vector<Reading>& readings) = 0;

  // Writes the logits of the source over readings.front().next(). Two readings that ask the same of a model have the
  // same rows. Must not depend on anything but the text, the request and the source.
  virtual void combine(const SourcePlace& place, std::span<const ReadRows> readings) = 0;

  // Whether the logits are those of the one reading as they are, so that logits after a guess can be used too.
  virtual bool is_plain() const { return false; }
};

// Immutable; may be used from several threads at once.
class LogitSource {
 public:
  virtual ~LogitSource() = default;

  // Throws Error if the source cannot steer that model. All must outlive the state.
  virtual std::unique_ptr<TextState> open(const ReadModel& model, const GenerationRequest& request) const = 0;
};

}  // namespace semfuse
