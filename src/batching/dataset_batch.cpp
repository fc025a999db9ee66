#include "batching/dataset_batch.h"

namespace semfuse {
namespace {

bool reads_end(std::span<const TokenId> ids, bool count_end) {
  return count_end && ids.back() == Vocabulary::kEos;
}

}  // namespace

std::size_t num_positions(const Dataset& dataset, std::size_t text, bool count_end) {
  const std::span<const TokenId> ids = dataset.ids(text);
  return ids.size() - (reads_end(ids, count_end) ? 0 : 1);
}

std::vector<TokenId> targets_of(const Dataset& dataset, std::span<const std::size_t> texts, bool count_end) {
  std::vector<TokenId> targets;
  for (const std::size_t text : texts) {
    const std::span<const TokenId> ids = dataset.ids(text);
    targets.insert(targets.end(), ids.begin() + 1, ids.end());
    if (reads_end(ids, count_end)) targets.push_back(Vocabulary::kPad);
  }
  return targets;
}

Batch make_batch(const Dataset& dataset, std::span<const std::size_t> texts, bool count_end, std::size_t shard_tokens,
                 ConstMatrix requests) {
  BatchPacker packer(dataset.num_features(), shard_tokens, requests.cols());
  std::vector<TokenId> entries;
  std::vector<float> features;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::span<const TokenId> ids = dataset.ids(texts[i]);
    entries.assign(ids.begin(), ids.end());
    if (reads_end(ids, count_end)) entries.push_back(Vocabulary::kPad);
    const std::size_t length = entries.size() - 1;
    features.resize(length * dataset.num_features());
    dataset.copy_features(texts[i], features);
    packer.add(std::span(entries).first(length), std::span(entries).last(length), features,
               requests.cols() == 0 ? std::span<const float>() : std::span(requests.row(i), requests.cols()));
  }
  return packer.take();
}

}  // namespace semfuse
