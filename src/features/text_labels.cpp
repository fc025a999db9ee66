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
  std::string_view last;
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
    const bool of_word = !knob.of_column && column_of_.back() == kNone && knob.kind != KnobKind::distribution;
    reads_attributes_ = reads_attributes_ || (of_word && knob.source != kLengthSource);
  }
  for (const LexiconEntry& entry : bank.lexicon().entries()) {
    const auto num_words = 1 + static_cast<std::size_t>(std::ranges::count(entry.word, '_'));
    longest_phrase_ = std::max(longest_phrase_, num_words);
  }
}

void TextLabels::read(std::string_view text, std::vector<KnobLabel>& labels, RowMemory* memory) const {
  labels.assign(knobs_.size(), {});
  if (!reads_words_) return;
  Words words;
  if (natural_ == nullptr) {
    words.parts = split_words(text);
    words.count = words.parts.size();
    if (words.count > 0) words.last = words.parts.back();
  } else {
    std::size_t begin = 0;
    for (const ScannedWord& word : scan_words(text)) {
      words.last = text.substr(word.begin, word.end - word.begin);
      if (reads_attributes_) words.parts.emplace_back(words.last);
      if (word.joined) {
        words.whole.back() = text.substr(begin, word.end - begin);
        continue;
      }
      begin = word.begin;
      words.whole.push_back(text.substr(begin, word.end - begin));
      ++words.count;
    }
  }
  if (reads_attributes_) look_up(words.parts);
  for (std::size_t k = 0; k < knobs_.size(); ++k) {
    const Knob& knob = knobs_[k];
    if (knob.of_column || column_of_[k] != kNone) continue;
    if (knob.source == kLengthSource) {
      labels[k].value = static_cast<double>(words.count);
    } else if (knob.kind == KnobKind::distribution) {
      if (words.count > 0) labels[k] = read_label(knob, {std::string(words.last)}, bank_->lexicon());
    } else {
      labels[k] = read_label(knob, words.parts, bank_->lexicon());
    }
  }
  if (reads_features_ && words.count > 0) read_features(words, labels, memory);
}

// Makes of words those of the lexicon: in lower case if it has no other, and a phrase of it instead of its words.
void TextLabels::look_up(Sentence& words) const {
  const Lexicon& lexicon = bank_->lexicon();
  if (lexicon.entries().empty()) return;
  std::size_t kept = 0, num_free = 0;  // Words that are in no phrase, at the end of those kept.
  for (std::string& word : words) {
    std::size_t num_before = 0;
    std::string phrase = longest_phrase_ > 1 ? lower_case(word) : "";
    for (std::size_t n = 1; n < longest_phrase_ && n <= num_free; ++n) {
      phrase.insert(0, lower_case(words[kept - n]) + '_');
      if (lexicon.find(phrase) == nullptr) continue;
      num_before = n;
    }
    if (num_before > 0) {
      std::string whole = lower_case(word);
      for (std::size_t n = 1; n <= num_before; ++n) whole.insert(0, lower_case(words[kept - n]) + '_');
      kept -= num_before;
      words[kept++] = std::move(whole);
      num_free = 0;
      continue;
    }
    if (lexicon.find(word) == nullptr) word = lower_case(word);
    if (&words[kept] != &word) words[kept] = std::move(word);
    ++kept;
    ++num_free;
  }
  words.resize(kept);
}

void TextLabels::read_features(const Words& words, std::vector<KnobLabel>& labels, RowMemory* memory) const {
  std::vector<std::size_t> counts(knobs_.size());
  const auto count = [&](std::span<const float> row) {
    for (std::size_t k = 0; k < knobs_.size(); ++k) {
      if (column_of_[k] != kNone && row[column_of_[k]] >= kTrue) ++counts[k];
    }
  };
  if (memory != nullptr) {
    memory->begin_text();
    RememberedCursor cursor(*memory);
    for (const std::string_view word : words.whole) count(memory->row(cursor.append({word, true})));
  } else {
    FeatureCursor cursor(*natural_);
    for (const std::string_view word : words.whole) count(cursor.append({word, true}));
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
