// How probable a model finds a text, token by token.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "backbone/backbone.h"
#include "semfuse/language_model.h"

namespace semfuse {

struct TextScore {
  std::vector<TokenId> ids;        // As the model's tokenizer has them, with what it reads before a text.
  std::vector<double> nll;         // Of each but the first, after those before it: -ln p.
  std::vector<float> last_logits;  // After the last.
  std::size_t num_bytes = 0;       // Of the text, of the tokens in `nll`; 0 if there is no text.

  // Bits of `nll` for each of these bytes; NaN without bytes.
  double bits_per_byte() const;
};

// What a model is asked for while it reads a text.
struct ScoreRequest {
  std::vector<float> row;  // As request_row() says; empty: nothing.
  double guidance = 1.0;   // Other than 1: each token is also read with nothing asked for.
};

// Told how much of the text is read, from 0 to 1. May be empty.
using ScoreProgress = std::function<void(double done)>;

// Reads at most `window` tokens at a time, its context at most (0: that); a longer text goes on in the next window,
// which begins with the last token of the one before. Throws Error if there is no token, or one that the model lacks.
TextScore score_ids(const Backbone& backbone, std::span<const TokenId> ids, std::size_t window, std::size_t threads,
                    const ScoreProgress& on_progress = {});
// The same for a model of our own, which must be causal; ids begin with <bos> as a rule.
TextScore score_ids(const LanguageModel& model, std::span<const TokenId> ids, std::size_t window,
                    const ScoreRequest& request = {}, const ScoreProgress& on_progress = {});
// The same for a model with an adapter; ids are those of its backbone.
TextScore score_adapted_ids(const LanguageModel& model, std::span<const TokenId> ids, std::size_t window,
                            std::size_t threads, const ScoreRequest& request, const ScoreProgress& on_progress = {});

// The same for the tokens of a text. Throws Error if the model has no tokenizer or not the words.
TextScore score_text(const Backbone& backbone, std::string_view text, std::size_t window, std::size_t threads,
                     const ScoreProgress& on_progress = {});
TextScore score_text(const LanguageModel& model, std::string_view text, std::size_t window,
                     const ScoreRequest& request = {}, const ScoreProgress& on_progress = {});
TextScore score_adapted_text(const LanguageModel& model, std::string_view text, std::size_t window, std::size_t threads,
                             const ScoreRequest& request, const ScoreProgress& on_progress = {});

}  // namespace semfuse
