// What texts show of knobs by themselves: their length and final mark, attributes of their words, shares of features.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "features/row_memory.h"
#include "semfuse/knobs.h"

namespace semfuse {

// The feature of "scalar of share past from 0 to 1" or "probability of feature past"; empty for other knobs.
std::string_view feature_of(const Knob& knob);

// With features of natural text words are those that the features are of; otherwise as split_words() finds them. Words
// that the lexicon lacks are looked up in lower case too, and its phrases (not_good) count instead of their words.
// Refers to the bank. Safe to share between threads.
class TextLabels {
 public:
  // Throws Error for a feature that the bank has not.
  TextLabels(std::vector<Knob> knobs, const FeatureBank& bank);

  // A label for each knob, in place of what `labels` held; those of columns say nothing. With a memory of the bank's
  // rows it is faster.
  void read(std::string_view text, std::vector<KnobLabel>& labels, RowMemory* memory = nullptr) const;

 private:
  struct Words;
  void look_up(Sentence& words) const;
  void read_features(const Words& words, std::vector<KnobLabel>& labels, RowMemory* memory) const;

  std::vector<Knob> knobs_;
  const FeatureBank* bank_;
  const NaturalBank* natural_;
  std::vector<std::size_t> column_of_;  // For each knob the feature's, or kNone.
  bool reads_words_ = false;            // Some knob is of the text,
  bool reads_attributes_ = false;       // of attributes of words,
  bool reads_features_ = false;         // of features.
  std::size_t longest_phrase_ = 1;      // Words of an entry of the lexicon.
};

}  // namespace semfuse
