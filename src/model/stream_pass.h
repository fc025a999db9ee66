// Texts that grow, and what computes the logits after the last tokens of each, whatever the model is.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/matrix_view.h"
#include "model/key_value_cache.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// A sentence in the making. Change tokens and features at will between passes: what is still true of the last pass is
// not computed again, in a causal model.
struct TokenStream {
  // With an empty cache of the kind that the model's passes fill.
  explicit TokenStream(KeyValueCache empty) : cache(std::move(empty)) {}

  // Forgets everything.
  void clear();

  std::vector<TokenId> tokens;  // <bos> and the words so far
  std::vector<float> features;  // [tokens, num_features]
  std::size_t num_guesses = 0;  // So many of the last tokens are guesses: the logits before them are wanted too.
  // So many of the first tokens, with their features, are as they were at the last pass, and need not be compared. For
  // one pass: the next one compares all unless it is told again.
  std::size_t num_unchanged = 0;
  std::size_t num_shared = 1;  // So many of the first tokens are what other streams may begin with too.
  // [request columns], the same until clear(); empty: nothing is asked for.
  std::vector<float> request;

  KeyValueCache cache;
  std::vector<TokenId> computed_tokens;  // What the cache was computed from.
  std::vector<float> computed_features;
  std::size_t num_certain = 0;  // So many of them were no guesses.
};

// The result for a stream does not depend on the other streams of the pass, nor on earlier ones. One thread at a time.
class StreamPass {
 public:
  virtual ~StreamPass() = default;

  // For each stream in turn, num_guesses + 1 rows of logits: those after each of its last num_guesses + 1 tokens. A
  // stream's first pass must have more tokens than guesses. Valid until the next call.
  virtual Matrix run(std::span<TokenStream* const> streams) = 0;
  // The states alone that these rows of logits are computed from, [rows, width]; valid until the next call.
  virtual ConstMatrix states(std::span<TokenStream* const> streams) = 0;
  // How many of the stream's first tokens the next pass need not compute. A longer text may be read by several passes,
  // each of which has a few tokens more. Nothing of a model that reads all of a text in each pass.
  virtual std::optional<std::size_t> num_known(const TokenStream& stream) = 0;
  // The states that the last run's logits were computed from, [rows, width]; valid as long as these.
  virtual ConstMatrix hidden() const = 0;
};

}  // namespace semfuse
