#include "batching/encoded_corpus.h"

#include <fmt/format.h>

#include "semfuse/error.h"

namespace semfuse {

EncodedCorpus::EncodedCorpus(std::span<const Sentence> sentences, const Vocabulary& vocabulary, const FeatureBank* bank,
                             bool count_end, std::size_t max_length)
    : num_features_(bank ? bank->size() : 0) {
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    if (sentences[s].size() + 2 > max_length) {
      throw Error(
          fmt::format("sentence {} has {} entries with <bos> and <eos>, more than corpus.max_length = {}; raise it or "
                      "shorten the sentence",
                      s + 1, sentences[s].size() + 2, max_length));
    }
    std::vector<TokenId> ids;
    try {
      ids = vocabulary.encode(sentences[s]);
    } catch (const Error& error) {
      throw Error(fmt::format("sentence {}: {}", s + 1, error.what()));
    }
    const std::size_t length = count_end ? ids.size() : ids.size() - 1;
    ids.push_back(Vocabulary::kPad);
    inputs_.insert(inputs_.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(length));
    targets_.insert(targets_.end(), ids.begin() + 1, ids.begin() + static_cast<std::ptrdiff_t>(length) + 1);
    if (bank) {
      const FeatureMatrix rows = bank->rows(sentences[s]);
      features_.insert(features_.end(), rows.values.begin(),
                       rows.values.begin() + static_cast<std::ptrdiff_t>(length * num_features_));
    }
    first_token_.push_back(inputs_.size());
  }
}

Batch EncodedCorpus::batch(std::span<const std::size_t> sentences, std::size_t shard_tokens,
                           ConstMatrix requests) const {
  BatchPacker packer(num_features_, shard_tokens, requests.cols());
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const std::size_t s = sentences[i];
    const std::size_t first = first_token_[s];
    packer.add(std::span(inputs_).subspan(first, length(s)), std::span(targets_).subspan(first, length(s)),
               std::span(features_).subspan(first * num_features_, length(s) * num_features_),
               requests.cols() == 0 ? std::span<const float>() : std::span(requests.row(i), requests.cols()));
  }
  return packer.take();
}

}  // namespace semfuse
