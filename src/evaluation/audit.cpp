#include <algorithm>
#include <cmath>
#include <utility>

#include "core/random.h"
#include "model/forward_pass.h"
#include "model/model_access.h"
#include "semfuse/error.h"
#include "semfuse/evaluation.h"

namespace semfuse {
namespace {

// A sentence as the model reads it; features may be other than those of its words.
struct Reading {
  std::vector<TokenId> ids;  // <bos> and the words.
  std::vector<float> features;
};

class Auditor {
 public:
  Auditor(const LanguageModel& model, std::uint64_t seed, std::size_t threads)
      : model_(model),
        features_(ModelAccess::features(model)),
        num_features_(ModelAccess::network(model).num_features()),
        random_(seed, RandomPurpose::shuffle),
        looks_ahead_(num_features_),
        pool_(thread_count(threads)),
        pass_(ModelAccess::network(model), pool_) {
    pass_.set_weights(ModelAccess::weights(model));
    for (const char* mark : {"!", "?", "."}) {
      if (model.vocabulary().find(mark)) marks_.emplace_back(mark);
    }
    if (model.vocabulary().size() <= static_cast<std::size_t>(Vocabulary::kEos) + 1)
      throw Error("the model has no words, so there is nothing to change");
  }

  void add(const Sentence& sentence) {
    const Reading original = read(sentence);
    std::vector<Reading> readings = {original};
    std::vector<std::size_t> kept;  // Words that each reading after the first shares with the sentence.
    for (std::size_t position = 0; position < sentence.size(); ++position) {
      // Other words behind the position, and those once more with each mark at the end.
      Sentence other = sentence;
      for (std::size_t t = position; t < other.size(); ++t) other[t] = other_word(other[t]);
      for (std::size_t variant = 0; variant <= marks_.size(); ++variant) {
        if (variant > 0) other.back() = marks_[variant - 1];
        compare_features(sentence, other, position);
        readings.push_back(read(other));
        kept.push_back(position);
      }
      // A longer and a shorter sentence have features of their own too.
      Sentence longer = sentence;
      longer.push_back(other_word(""));
      compare_features(sentence, longer, sentence.size());
      compare_features(sentence, Sentence(sentence.begin(), sentence.begin() + static_cast<std::ptrdiff_t>(position)),
                       position);
      if (num_features_ > 0) {
        Reading noisy = original;
        for (std::size_t n = (position + 1) * num_features_; n < noisy.features.size(); ++n) {
          noisy.features[n] = static_cast<float>(random_.next_uniform());
        }
        readings.push_back(std::move(noisy));
        kept.push_back(position);
      }
    }
    compare_logits(readings, kept);
    result_.num_sentences += 1;
    result_.num_changes += kept.size();
  }

  Audit result() const {
    Audit result = result_;
    result.attention = model_.options().attention;
    for (std::size_t f = 0; f < num_features_; ++f) {
      if (looks_ahead_[f]) result.features_looking_ahead.push_back(features_.names()[f]);
    }
    return result;
  }

 private:
  std::string other_word(const std::string& word) {
    const std::vector<std::string>& entries = model_.vocabulary().entries();
    const std::size_t first = static_cast<std::size_t>(Vocabulary::kEos) + 1;
    const std::string& drawn = entries[first + random_.next_below(entries.size() - first)];
    return drawn == word && entries.size() > first + 1 ? entries[drawn == entries[first] ? first + 1 : first] : drawn;
  }

  Reading read(const Sentence& sentence) const {
    Reading reading;
    reading.ids = model_.vocabulary().encode(sentence);
    reading.ids.pop_back();
    if (num_features_ > 0) {
      reading.features = rows(sentence).values;
      reading.features.resize(reading.ids.size() * num_features_);
    }
    return reading;
  }

  FeatureMatrix rows(const Sentence& sentence) const {
    const std::vector<TokenId> ids = model_.vocabulary().encode(sentence);
    return features_.text_rows(std::span(ids).subspan(1, ids.size() - 2));
  }

  // Rows up to <bos> and the `kept` words that both share.
  void compare_features(const Sentence& a, const Sentence& b, std::size_t kept) {
    if (num_features_ == 0) return;
    const FeatureMatrix rows_a = rows(a), rows_b = rows(b);
    for (std::size_t t = 0; t <= kept; ++t) {
      for (std::size_t f = 0; f < num_features_; ++f) {
        if (rows_a.row(t)[f] != rows_b.row(t)[f]) looks_ahead_[f] = true;
      }
    }
  }

  void compare_logits(const std::vector<Reading>& readings, const std::vector<std::size_t>& kept) {
    BatchPacker packer(num_features_);
    for (const Reading& reading : readings) packer.add(reading.ids, reading.ids, reading.features);
    const Batch batch = packer.take();
    const std::size_t vocab_size = model_.vocabulary().size();
    std::vector<float> logits(batch.num_tokens() * vocab_size);
    pass_.run(batch, [&](const Shard& shard, Matrix shard_logits, Matrix) {
      for (std::size_t t = 0; t < shard.num_tokens; ++t) {
        std::copy_n(shard_logits.row(t), vocab_size,
                    logits.begin() + static_cast<std::ptrdiff_t>((shard.first_token + t) * vocab_size));
      }
    });
    for (std::size_t r = 0; r < kept.size(); ++r) {
      const std::size_t first = batch.first_token[r + 1] * vocab_size;
      for (std::size_t n = 0; n < (kept[r] + 1) * vocab_size; ++n) {
        const double change = std::abs(static_cast<double>(logits[first + n]) - static_cast<double>(logits[n]));
        // Also true of NaN.
        if (!(change <= result_.max_logit_change)) result_.max_logit_change = change;
      }
    }
  }

  const LanguageModel& model_;
  const TokenFeatures& features_;
  std::size_t num_features_;
  RandomStream random_;
  std::vector<std::string> marks_;
  std::vector<bool> looks_ahead_;
  ThreadPool pool_;
  ForwardPass pass_;
  Audit result_;
};

}  // namespace

Audit audit(const LanguageModel& model, std::span<const Sentence> sentences, std::uint64_t seed, std::size_t threads,
            const std::function<void(double done)>& on_progress) {
  if (sentences.empty()) throw Error("there is no sentence to audit on");
  Auditor auditor(model, seed, threads);
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    auditor.add(sentences[i]);
    if (on_progress) on_progress(static_cast<double>(i + 1) / static_cast<double>(sentences.size()));
  }
  return auditor.result();
}

}  // namespace semfuse
