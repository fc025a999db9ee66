// Texts of a dataset, packed into batches.
#pragma once

#include "batching/batch.h"
#include "semfuse/dataset.h"

namespace semfuse {

// Positions of a text. With count_end the one that reads <eos> and predicts <pad> is one of them.
std::size_t num_positions(const Dataset& dataset, std::size_t text, bool count_end);

// What the positions of these texts predict.
std::vector<TokenId> targets_of(const Dataset& dataset, std::span<const std::size_t> texts, bool count_end);

// `requests` [texts, columns], if there are any columns.
Batch make_batch(const Dataset& dataset, std::span<const std::size_t> texts, bool count_end,
                 std::size_t shard_tokens = kShardTokens, ConstMatrix requests = {});

}  // namespace semfuse
