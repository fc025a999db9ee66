#include "data/sentence_dataset.h"

#include <fmt/format.h>

#include <algorithm>

#include "semfuse/error.h"

namespace semfuse {

SentenceDataset::SentenceDataset(std::span<const Sentence> sentences, const Vocabulary& vocabulary,
                                 const SentenceDatasetOptions& options)
    : num_features_(options.features ? options.features->size() : 0), num_knobs_(options.knobs.size()) {
  // Lists that grow by doubling would hold a large corpus twice for a while.
  std::size_t num_ids = 0;
  for (const Sentence& sentence : sentences) num_ids += sentence.size() + 2;
  ids_.reserve(num_ids);
  features_.reserve(num_ids * num_features_);
  first_id_.reserve(sentences.size() + 1);
  labels_.reserve(sentences.size() * num_knobs_);
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    if (sentences[s].size() + 2 > options.max_length) {
      throw Error(
          fmt::format("sentence {} has {} entries with <bos> and <eos>, more than corpus.max_length = {}; raise it or "
                      "shorten the sentence",
                      s + 1, sentences[s].size() + 2, options.max_length));
    }
    try {
      const std::vector<TokenId> ids = vocabulary.encode(sentences[s]);
      ids_.insert(ids_.end(), ids.begin(), ids.end());
      if (options.features) {
        const FeatureMatrix rows = options.features->text_rows(std::span(ids).subspan(1, ids.size() - 2));
        features_.insert(features_.end(), rows.values.begin(), rows.values.end());
      }
    } catch (const Error& error) {
      throw Error(fmt::format("sentence {}: {}", s + 1, error.what()));
    }
    for (const Knob& knob : options.knobs) labels_.push_back(read_label(knob, sentences[s], *options.lexicon));
    num_bytes_ += join_words(sentences[s]).size() + 1;
    first_id_.push_back(ids_.size());
  }
}

void SentenceDataset::copy_features(std::size_t text, std::span<float> rows) const {
  std::copy_n(features_.begin() + static_cast<std::ptrdiff_t>(first_id_[text] * num_features_), rows.size(),
              rows.begin());
}

}  // namespace semfuse
