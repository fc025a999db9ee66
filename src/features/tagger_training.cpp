#include "features/tagger_training.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "core/random.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kNumTags = kUniversalTags.size();
constexpr std::int64_t kScale = 8;  // Weights are stored as eighths.
constexpr std::int64_t kLargest = 127;

using Forms = std::vector<std::vector<TagForm>>;

Forms forms_of(std::span<const TaggedSentence> sentences) {
  Forms forms;
  forms.reserve(sentences.size());
  for (const TaggedSentence& sentence : sentences) {
    std::vector<TagForm>& list = forms.emplace_back();
    list.reserve(sentence.words.size());
    for (const std::string& word : sentence.words) list.push_back(TagForm::of(word));
  }
  return forms;
}

// One of the two readings.
class WeightTraining {
 public:
  WeightTraining(std::span<const TaggedSentence> sentences, const Forms& forms, const TaggerTrainingOptions& options,
                 bool looks_ahead)
      : sentences_(sentences), forms_(forms), options_(options), looks_ahead_(looks_ahead) {
    count_features();
  }

  void pass(std::size_t number);
  TagWeights result() const;

 private:
  TagFeatureList features_of(std::size_t sentence, std::size_t word, UniversalTag before,
                             UniversalTag before_that) const;
  void count_features();
  void learn(std::size_t sentence);

  std::span<const TaggedSentence> sentences_;
  const Forms& forms_;
  const TaggerTrainingOptions& options_;
  bool looks_ahead_;
  std::vector<std::uint32_t> hashes_;
  std::vector<std::uint32_t> counts_;
  TagFeatures features_;
  // All integers, so that the sums are exact. The mean of a weight over all steps is weight - late / steps, where
  // `late` sums each change times the step that it came at.
  std::vector<std::int32_t> weights_;
  std::vector<std::int64_t> late_;
  std::int64_t step_ = 0;
};

TagFeatureList WeightTraining::features_of(std::size_t sentence, std::size_t word, UniversalTag before,
                                           UniversalTag before_that) const {
  const std::vector<TagForm>& forms = forms_[sentence];
  const auto form_at = [&](std::size_t i) -> const TagForm& {
    return i < forms.size() ? forms[i] : TagForm::after_sentence();
  };
  const auto form_before = [&](std::size_t back) -> const TagForm& {
    return word >= back ? forms[word - back] : TagForm::before_sentence();
  };
  TagFeatureList list(forms[word], form_before(1), form_before(2), before, before_that);
  if (looks_ahead_) list.look_ahead(forms[word], form_at(word + 1), form_at(word + 2), before);
  return list;
}

void WeightTraining::count_features() {
  std::vector<std::uint32_t> counts(std::size_t{1} << kTagFeatureBits);
  for (std::size_t s = 0; s < sentences_.size(); ++s) {
    const std::vector<UniversalTag>& tags = sentences_[s].tags;
    for (std::size_t i = 0; i < tags.size(); ++i) {
      const UniversalTag before = i >= 1 ? tags[i - 1] : TagFeatureList::kNoTag;
      const UniversalTag before_that = i >= 2 ? tags[i - 2] : TagFeatureList::kNoTag;
      const TagFeatureList features = features_of(s, i, before, before_that);
      for (const std::uint32_t hash : features.hashes()) ++counts[hash];
    }
  }
  for (std::uint32_t hash = 0; hash < counts.size(); ++hash) {
    if (counts[hash] < options_.least_count || counts[hash] == 0) continue;
    hashes_.push_back(hash);
    counts_.push_back(counts[hash]);
  }
  features_ = TagFeatures(hashes_);
  weights_.resize(hashes_.size() * kNumTags);
  late_.resize(hashes_.size() * kNumTags);
}

void WeightTraining::pass(std::size_t number) {
  std::vector<std::size_t> order(sentences_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  RandomStream random(options_.seed, RandomPurpose::shuffle, number);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.next_below(i)]);
  for (const std::size_t sentence : order) learn(sentence);
}

// Tags the sentence as the tagger would, and corrects the weights wherever they were wrong.
void WeightTraining::learn(std::size_t sentence) {
  const std::vector<UniversalTag>& tags = sentences_[sentence].tags;
  UniversalTag before = TagFeatureList::kNoTag, before_that = TagFeatureList::kNoTag;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    ++step_;
    rows.clear();
    std::array<std::int32_t, kNumTags> scores{};
    const TagFeatureList features = features_of(sentence, i, before, before_that);
    for (const std::uint32_t hash : features.hashes()) {
      const std::size_t row = features_.find(hash);
      if (row == TagFeatures::kAbsent) continue;
      rows.push_back(row);
      for (std::size_t tag = 0; tag < kNumTags; ++tag) scores[tag] += weights_[row * kNumTags + tag];
    }
    const auto best = static_cast<UniversalTag>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    if (best != tags[i]) {
      for (const std::size_t row : rows) {
        ++weights_[row * kNumTags + tags[i]];
        late_[row * kNumTags + tags[i]] += step_;
        --weights_[row * kNumTags + best];
        late_[row * kNumTags + best] -= step_;
      }
    }
    before_that = before;
    before = best;
  }
}

TagWeights WeightTraining::result() const {
  struct Candidate {
    double use;
    std::size_t row;
  };
  std::vector<Candidate> candidates;
  std::vector<TagWeights::Row> rounded(hashes_.size());
  for (std::size_t row = 0; row < hashes_.size(); ++row) {
    std::int64_t largest = 0;
    bool any = false;
    for (std::size_t tag = 0; tag < kNumTags; ++tag) {
      const std::size_t at = row * kNumTags + tag;
      const std::int64_t sum = std::int64_t{weights_[at]} * step_ - late_[at];  // The mean is sum / step_.
      const std::int64_t size = std::min(kLargest, (2 * kScale * std::abs(sum) + step_) / (2 * step_));
      rounded[row][tag] = static_cast<std::int8_t>(sum < 0 ? -size : size);
      largest = std::max(largest, std::abs(sum));
      any = any || size != 0;
    }
    // A feature that weighs much in few places matters less than one that weighs somewhat in many.
    if (any) candidates.push_back({static_cast<double>(largest) * std::sqrt(static_cast<double>(counts_[row])), row});
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.use != b.use ? a.use > b.use : a.row < b.row; });
  candidates.resize(std::min(candidates.size(), options_.features));
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.row < b.row; });
  std::vector<std::uint32_t> hashes;
  std::vector<TagWeights::Row> rows;
  for (const Candidate& candidate : candidates) {
    hashes.push_back(hashes_[candidate.row]);
    rows.push_back(rounded[candidate.row]);
  }
  return TagWeights(std::move(hashes), rows);
}

}  // namespace

Tagger train_tagger(std::span<const TaggedSentence> sentences, const TaggerTrainingOptions& options,
                    const TaggerProgress& progress) {
  if (sentences.empty()) throw Error("a tagger needs sentences to train on");
  if (options.passes == 0) throw Error("the number of passes is 0; choose 1 or more");
  if (options.features == 0) throw Error("the number of features is 0; choose 1 or more");
  const Forms forms = forms_of(sentences);
  std::array<TagWeights, 2> weights;
  for (std::size_t reading = 0; reading < weights.size(); ++reading) {
    WeightTraining training(sentences, forms, options, reading == 1);
    for (std::size_t pass = 0; pass < options.passes; ++pass) {
      training.pass(pass);
      if (progress && !progress(reading * options.passes + pass + 1, weights.size() * options.passes)) {
        throw Error("the training was interrupted; nothing was written");
      }
    }
    weights[reading] = training.result();
  }
  return Tagger(std::move(weights[0]), std::move(weights[1]));
}

}  // namespace semfuse
