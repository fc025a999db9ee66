#include "features/text_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/lower_case.h"
#include "core/nearest_word.h"
#include "features/feature_bank_access.h"
#include "features/knob_index.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr float kTrue = 0.5f;  // A feature is true of a word from this degree on.

std::size_t column_of(const Knob& knob, const FeatureBank& bank) {
  const std::string_view feature = feature_of(knob);
  if (feature.empty()) return kNone;
  if (FeatureBankAccess::natural(bank) == nullptr) {
    throw Error(
        fmt::format("knob {}: it is of a feature of natural text, and there are none; set features.bank to \"natural\"",
                    knob.name));
  }
  const auto found = std::ranges::find(bank.names(), feature);
  if (found == bank.names().end()) {
    throw Error(fmt::format("knob {}: there is no feature {}{}", knob.name, quoted_text(feature),
                            did_you_mean(feature, bank.names())));
  }
  return static_cast<std::size_t>(found - bank.names().begin());
}

}  // namespace

struct TextLabels::Words {
  Sentence parts;                       // "do", "n't".
  std::vector<std::string_view> whole;  // "don't"; of natural text only.
  std::size_t count = 0;
};

std::string_view feature_of(const Knob& knob) {
  if (knob.of_column) return {};
  for (const std::string_view source : {kShareSource, kFeatureSource}) {
    if (knob.source.starts_with(source)) return std::string_view(knob.source).substr(source.size());
  }
  return {};
}

TextLabels::TextLabels(std::vector<Knob> knobs, const FeatureBank& bank)
    : knobs_(std::move(knobs)), bank_(&bank), natural_(FeatureBankAccess::natural(bank)) {
  for (const Knob& knob : knobs_) {
    column_of_.push_back(column_of(knob, bank));
    reads_words_ = reads_words_ || !knob.of_column;
    reads_features_ = reads_features_ || column_of_.back() != kNone;
  }
}

void TextLabels::read(std::string_view text, std::vector<KnobLabel>& labels) const {
  labels.assign(knobs_.size(), {});
  if (!reads_words_) return;
  Words words;
  if (natural_ == nullptr) {
    words.parts = split_words(text);
    words.count = words.parts.size();
  } else {
    std::size_t begin = 0;
    for (const ScannedWord& word : scan_words(text)) {
      words.parts.emplace_back(text.substr(word.begin, word.end - word.begin));
      if (word.joined) {
        words.whole.back() = text.substr(begin, word.end - begin);
        continue;
      }
      begin = word.begin;
      words.whole.push_back(text.substr(begin, word.end - begin));
      ++words.count;
    }
  }
  const Lexicon& lexicon = bank_->lexicon();
  Sentence looked_up = words.parts;
  for (std::string& word : looked_up) {
    if (!lexicon.entries().empty() && lexicon.find(word) == nullptr) word = lower_case(word);
  }
  for (std::size_t k = 0; k < knobs_.size(); ++k) {
    const Knob& knob = knobs_[k];
    if (knob.of_column || column_of_[k] != kNone) continue;
    labels[k] = read_label(knob, knob.kind == KnobKind::distribution ? words.parts : looked_up, lexicon);
    if (knob.source == kLengthSource) labels[k].value = static_cast<double>(words.count);
  }
  if (reads_features_ && words.count > 0) read_features(words, labels);
}

void TextLabels::read_features(const Words& words, std::vector<KnobLabel>& labels) const {
  std::vector<std::size_t> counts(knobs_.size());
  FeatureCursor cursor(*natural_);
  for (const std::string_view word : words.whole) {
    const std::span<const float> row = cursor.append({word, true});
    for (std::size_t k = 0; k < knobs_.size(); ++k) {
      if (column_of_[k] != kNone && row[column_of_[k]] >= kTrue) ++counts[k];
    }
  }
  for (std::size_t k = 0; k < knobs_.size(); ++k) {
    if (column_of_[k] == kNone) continue;
    if (knobs_[k].kind == KnobKind::probability) {
      ++(counts[k] > 0 ? labels[k].positive : labels[k].negative);
    } else {
      labels[k].value = static_cast<double>(counts[k]) / static_cast<double>(words.count);
    }
  }
}

}  // namespace semfuse
