// Sentences packed end to end: no padding, no padding mask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/matrix_view.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// Consecutive whole sentences that one task works on. Shards are cut by the batch alone, never by the number of
// threads.
struct Shard {
  std::size_t index = 0;
  std::size_t first_sentence = 0;
  std::size_t num_sentences = 0;
  std::size_t first_token = 0;
  std::size_t num_tokens = 0;

  template <class T>
  MatrixView<T> rows_of(MatrixView<T> all) const {
    return all.row_range(first_token, num_tokens);
  }
};

// Tokens that a shard has at most, about: enough to keep the matrix kernels busy, few enough that what a shard hands
// from one operation to the next stays in the second-level cache. Each shard reads all weights, so a wide model, whose
// weights do not stay there, takes larger ones.
constexpr std::size_t kShardTokens = 160;
constexpr std::size_t shard_tokens_for(std::size_t width) {
  return width < 256 ? kShardTokens : 288;
}

struct Batch {
  std::vector<TokenId> inputs;                 // [num_tokens]
  std::vector<TokenId> targets;                // [num_tokens]
  std::vector<std::uint32_t> positions;        // [num_tokens], each token's place in its sentence
  std::vector<std::size_t> first_token = {0};  // [num_sentences + 1]
  std::size_t num_features = 0;
  std::vector<float> features;  // [num_tokens, num_features]
  std::size_t num_request_columns = 0;
  std::vector<float> requests;  // [num_sentences, num_request_columns]: what a sentence is asked for
  std::size_t shard_tokens = kShardTokens;
  std::vector<Shard> shards;
  std::size_t first_row = 0;  // Of the first token in its step; rows of dropout masks count from here.

  std::size_t num_tokens() const { return inputs.size(); }
  std::size_t num_sentences() const { return first_token.size() - 1; }
  std::size_t length(std::size_t sentence) const { return first_token[sentence + 1] - first_token[sentence]; }
  std::size_t longest() const;
  // Tokens of the sentence up to the batch's last, those before the batch included.
  std::size_t end_position(std::size_t sentence) const { return positions[first_token[sentence + 1] - 1] + 1; }
  ConstMatrix feature_rows() const { return {features.data(), num_tokens(), num_features}; }
  ConstMatrix request_rows() const { return {requests.data(), num_sentences(), num_request_columns}; }
};

// Some neighbouring sentences of a batch.
struct SentenceRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

// At most `parts` runs of sentences with about equally many tokens, in order; none is empty. `first_token` is as a
// batch of these sentences has it.
std::vector<SentenceRange> cut_sentences(std::span<const std::size_t> first_token, std::size_t parts);

// These sentences of a batch as a batch of their own.
Batch part_of(const Batch& batch, const SentenceRange& sentences);

// Builds batches one sentence at a time.
class BatchPacker {
 public:
  explicit BatchPacker(std::size_t num_features, std::size_t shard_tokens = kShardTokens,
                       std::size_t num_request_columns = 0) {
    batch_.num_features = num_features;
    batch_.shard_tokens = shard_tokens;
    batch_.num_request_columns = num_request_columns;
  }

  // One sentence: inputs and targets of equal length, at least 1, a feature row for each input, and one request; empty:
  // nothing is asked for. The first input is at `first_position` of the sentence; above 0 if what is before it is
  // cached.
  void add(std::span<const TokenId> inputs, std::span<const TokenId> targets, std::span<const float> features,
           std::span<const float> request = {}, std::size_t first_position = 0);

  // The batch of all sentences added since the last call, cut into shards.
  Batch take();
  // The same as a single shard.
  Batch take_whole();

 private:
  Batch take_uncut();
  Batch batch_;
};

}  // namespace semfuse
