// Sentences in memory as a dataset: ids, feature rows and labels are computed once.
#pragma once

#include <vector>

#include "features/token_features.h"
#include "semfuse/dataset.h"

namespace semfuse {

struct SentenceDatasetOptions {
  const TokenFeatures* features = nullptr;  // Null: none. Read during construction only.
  std::size_t max_length = 28;       // Most entries of a sentence, <bos> and <eos> included; longer ones are refused.
  std::span<const Knob> knobs = {};  // Whose labels are read, ...
  const Lexicon* lexicon = nullptr;  // ... by this lexicon, which must be there if there are knobs.
};

class SentenceDataset : public Dataset {
 public:
  // Throws Error that names the sentence if a word is unknown or if it is too long.
  SentenceDataset(std::span<const Sentence> sentences, const Vocabulary& vocabulary,
                  const SentenceDatasetOptions& options);

  std::size_t size() const override { return first_id_.size() - 1; }
  std::span<const TokenId> ids(std::size_t text) const override {
    return std::span(ids_).subspan(first_id_[text], first_id_[text + 1] - first_id_[text]);
  }
  std::size_t num_features() const override { return num_features_; }
  void copy_features(std::size_t text, std::span<float> rows) const override;
  KnobLabel label(std::size_t text, std::size_t knob) const override { return labels_[text * num_knobs_ + knob]; }
  std::uint64_t num_bytes() const override { return num_bytes_; }

 private:
  std::size_t num_features_;
  std::size_t num_knobs_;
  std::uint64_t num_bytes_ = 0;
  std::vector<TokenId> ids_;
  std::vector<float> features_;  // [ids, num_features]
  std::vector<std::size_t> first_id_ = {0};
  std::vector<KnobLabel> labels_;  // [sentences, knobs]
};

}  // namespace semfuse
