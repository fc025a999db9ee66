#include "batching/batch.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace semfuse {

namespace {

// Large enough to keep the matrix kernels busy, small enough that a shard's activations of a layer stay in the second-level
// cache and that a paper-size batch gives several shards to each thread.
constexpr std::size_t kShardTokens = 128;

std::vector<Shard> cut_into_shards(const std::vector<std::size_t>& first_token) {
  const std::size_t num_sentences = first_token.size() - 1;
  const std::size_t num_tokens = first_token.back();
  const std::size_t wanted = std::max<std::size_t>(1, (num_tokens + kShardTokens - 1) / kShardTokens);
  std::vector<Shard> shards;
  std::size_t sentence = 0;
  for (std::size_t cut = 1; cut <= wanted && sentence < num_sentences; ++cut) {
    const std::size_t goal = num_tokens * cut / wanted;
    std::size_t end = sentence;
    // A sentence belongs to the shard in which its middle lies.
    while (end < num_sentences && (cut == wanted || (first_token[end] + first_token[end + 1]) / 2 < goal)) ++end;
    if (end == sentence) continue;
    shards.push_back({.index = shards.size(),
                      .first_sentence = sentence,
                      .num_sentences = end - sentence,
                      .first_token = first_token[sentence],
                      .num_tokens = first_token[end] - first_token[sentence]});
    sentence = end;
  }
  return shards;
}

}  // namespace

std::size_t Batch::longest() const {
  std::size_t longest = 0;
  for (std::size_t s = 0; s < num_sentences(); ++s) longest = std::max(longest, length(s));
  return longest;
}

void BatchPacker::add(std::span<const TokenId> inputs, std::span<const TokenId> targets, std::span<const float> features) {
  assert(!inputs.empty() && inputs.size() == targets.size() && features.size() == inputs.size() * batch_.num_features);
  batch_.inputs.insert(batch_.inputs.end(), inputs.begin(), inputs.end());
  batch_.targets.insert(batch_.targets.end(), targets.begin(), targets.end());
  batch_.features.insert(batch_.features.end(), features.begin(), features.end());
  for (std::size_t position = 0; position < inputs.size(); ++position) {
    batch_.positions.push_back(static_cast<std::uint32_t>(position));
  }
  batch_.first_token.push_back(batch_.inputs.size());
}

Batch BatchPacker::take() {
  batch_.shards = cut_into_shards(batch_.first_token);
  Batch result = std::move(batch_);
  batch_ = Batch();
  batch_.num_features = result.num_features;
  return result;
}

}  // namespace semfuse
