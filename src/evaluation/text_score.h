// How probable a model finds a text, token by token.
#pragma once

#include <cstddef>
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

// Reads at most `window` tokens at a time, its context at most (0: that); a longer text goes on in the next window,
// which begins with the last token of the one before. Throws Error if there is no token, or one that the model lacks.
TextScore score_ids(const Backbone& backbone, std::span<const TokenId> ids, std::size_t window, std::size_t threads);
// The same for a model of our own, which must be causal; ids begin with <bos> as a rule.
TextScore score_ids(const LanguageModel& model, std::span<const TokenId> ids, std::size_t window);

// The same for the tokens of a text. Throws Error if the model has no tokenizer or not the words.
TextScore score_text(const Backbone& backbone, std::string_view text, std::size_t window, std::size_t threads);
TextScore score_text(const LanguageModel& model, std::string_view text, std::size_t window);

}  // namespace semfuse
