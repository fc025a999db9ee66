// Sentences as ids and feature rows, computed once and packed into batches many times.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "batching/batch.h"
#include "semfuse/feature_bank.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

class EncodedCorpus {
 public:
  // `bank` may be null: no features. With count_end the position that reads <eos> and predicts <pad> is one of the
  // sentence's. Throws Error that names the sentence if a word is unknown or if it has more than max_length entries,
  // <bos> and <eos> included.
  EncodedCorpus(std::span<const Sentence> sentences, const Vocabulary& vocabulary, const FeatureBank* bank,
                bool count_end, std::size_t max_length);

  std::size_t size() const { return first_token_.size() - 1; }
  std::size_t num_tokens() const { return inputs_.size(); }
  std::size_t length(std::size_t sentence) const { return first_token_[sentence + 1] - first_token_[sentence]; }

  // `requests` [sentences, columns], if there are any columns.
  Batch batch(std::span<const std::size_t> sentences, std::size_t shard_tokens = kShardTokens,
              ConstMatrix requests = {}) const;

 private:
  std::size_t num_features_ = 0;
  std::vector<TokenId> inputs_;
  std::vector<TokenId> targets_;
  std::vector<float> features_;
  std::vector<std::size_t> first_token_ = {0};
};

}  // namespace semfuse
