#include "batching/batch.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace semfuse {

namespace {

constexpr std::size_t kSmallestShard = 40;
constexpr std::size_t kEvenly = 4;  // A number of shards that 2 and 4 threads can share is worth more than exact sizes.

std::size_t number_of_shards(std::size_t num_tokens, std::size_t shard_tokens) {
  const std::size_t wanted = (num_tokens + shard_tokens - 1) / shard_tokens;
  const std::size_t even = (wanted + kEvenly - 1) / kEvenly * kEvenly;
  return std::clamp<std::size_t>(num_tokens / kSmallestShard, 1, std::max<std::size_t>(even, 1));
}

std::vector<Shard> cut_into_shards(const std::vector<std::size_t>& first_token, std::size_t shard_tokens) {
  std::vector<Shard> shards;
  for (const auto& [first, count] : cut_sentences(first_token, number_of_shards(first_token.back(), shard_tokens))) {
    shards.push_back({.index = shards.size(),
                      .first_sentence = first,
                      .num_sentences = count,
                      .first_token = first_token[first],
                      .num_tokens = first_token[first + count] - first_token[first]});
  }
  return shards;
}

}  // namespace

// A sentence belongs to the run in which its middle lies.
std::vector<SentenceRange> cut_sentences(std::span<const std::size_t> first_token, std::size_t parts) {
  const std::size_t num_sentences = first_token.size() - 1;
  std::vector<SentenceRange> ranges;
  std::size_t sentence = 0;
  for (std::size_t part = 1; part <= parts; ++part) {
    const std::size_t goal = first_token.back() * part / parts;
    std::size_t end = sentence;
    while (end < num_sentences && (first_token[end] + first_token[end + 1]) / 2 < goal) ++end;
    if (end > sentence) ranges.push_back({sentence, end - sentence});
    sentence = end;
  }
  return ranges;
}

Batch part_of(const Batch& batch, const SentenceRange& sentences) {
  BatchPacker packer(batch.num_features, batch.shard_tokens, batch.num_request_columns);
  for (std::size_t s = sentences.first; s < sentences.first + sentences.count; ++s) {
    const std::size_t begin = batch.first_token[s];
    packer.add(std::span(batch.inputs).subspan(begin, batch.length(s)),
               std::span(batch.targets).subspan(begin, batch.length(s)),
               std::span(batch.features).subspan(begin * batch.num_features, batch.length(s) * batch.num_features),
               std::span(batch.requests).subspan(s * batch.num_request_columns, batch.num_request_columns));
  }
  Batch part = packer.take();
  part.first_row = batch.first_row + batch.first_token[sentences.first];
  return part;
}

std::size_t Batch::longest() const {
  std::size_t longest = 0;
  for (std::size_t s = 0; s < num_sentences(); ++s) longest = std::max(longest, length(s));
  return longest;
}

void BatchPacker::add(std::span<const TokenId> inputs, std::span<const TokenId> targets,
                      std::span<const float> features, std::span<const float> request, std::size_t first_position) {
  assert(!inputs.empty() && inputs.size() == targets.size() && features.size() == inputs.size() * batch_.num_features);
  assert(request.empty() || request.size() == batch_.num_request_columns);
  batch_.inputs.insert(batch_.inputs.end(), inputs.begin(), inputs.end());
  batch_.targets.insert(batch_.targets.end(), targets.begin(), targets.end());
  batch_.features.insert(batch_.features.end(), features.begin(), features.end());
  batch_.requests.insert(batch_.requests.end(), request.begin(), request.end());
  for (std::size_t position = 0; position < inputs.size(); ++position) {
    batch_.positions.push_back(static_cast<std::uint32_t>(first_position + position));
  }
  batch_.first_token.push_back(batch_.inputs.size());
  batch_.requests.resize(batch_.num_sentences() * batch_.num_request_columns);
}

Batch BatchPacker::take_uncut() {
  Batch result = std::move(batch_);
  batch_ = Batch();
  batch_.num_features = result.num_features;
  batch_.shard_tokens = result.shard_tokens;
  batch_.num_request_columns = result.num_request_columns;
  return result;
}

Batch BatchPacker::take() {
  Batch result = take_uncut();
  result.shards = cut_into_shards(result.first_token, result.shard_tokens);
  return result;
}

Batch BatchPacker::take_whole() {
  Batch result = take_uncut();
  result.shards = {{.num_sentences = result.num_sentences(), .num_tokens = result.num_tokens()}};
  return result;
}

}  // namespace semfuse
