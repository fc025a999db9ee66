// Knobs: settings that a person asks a model for, and what each means in numbers.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/corpus.h"
#include "semfuse/lexicon.h"

namespace semfuse {

enum class KnobKind {
  probability,  // The share of labelled words whose label is positive: 0.7 asks for seven in ten.
  scalar,       // The mean of a sentence's values.
  distribution  // How often each of a few labels occurs.
};

std::string_view to_string(KnobKind kind);

// What a model can be asked for, and where training reads what a sentence has of it.
struct Knob {
  std::string name;
  KnobKind kind = KnobKind::probability;
  // An attribute of the lexicon, where 0 says nothing of a word; or "final_mark", the last word of a sentence; or
  // "length", its number of words; or "share past", of whose words that feature of natural text is true, or
  // "feature past", whether it is true of one.
  std::string source;
  // The source is a column of the data instead: "of column stars". A text shows nothing of it by itself, so what a
  // model makes of such a knob takes a judge to measure.
  bool of_column = false;
  double low = 0.0;  // Range of a scalar; what it can be asked for.
  double high = 1.0;
  std::vector<std::string> labels;  // Of a distribution.

  // Values of a setting: one, or a weight for each label.
  std::size_t num_values() const { return kind == KnobKind::distribution ? labels.size() : 1; }
  bool operator==(const Knob&) const = default;
};

// "polarity: probability of polarity", "strength: scalar of strength from 0.2 to 1", "mark: distribution of final_mark
// over . ! ?"; of a column "stars: scalar of column stars from 1 to 5", "topic: distribution of column topic over
// sport, world news, science". Throws Error for anything else.
Knob parse_knob(std::string_view text);
std::string to_string(const Knob& knob);
// More than training can combine are refused.
constexpr std::size_t kMaxKnobs = 8;

// Throws Error if two share a name or there are more than kMaxKnobs.
void check_knobs(std::span<const Knob> knobs);

// What a sentence shows of a knob.
struct KnobLabel {
  std::size_t positive = 0;          // Of a probability: words with the attribute above 0,
  std::size_t negative = 0;          // and below it.
  std::optional<double> value;       // Of a scalar, if the sentence has one.
  std::optional<std::size_t> label;  // Of a distribution, if it is one of the labels.
};

// Nothing of a knob that is of a column.
KnobLabel read_label(const Knob& knob, const Sentence& sentence, const Lexicon& lexicon);

// Of a knob that is of a column: what the text of a cell says; an empty one says nothing. A probability takes 1, true,
// yes, pos, positive and 0, false, no, neg, negative in any case of letters. Throws Error, without a place, for a value
// out of range or unknown.
KnobLabel read_cell(const Knob& knob, std::string_view cell);

// By name of a scalar knob: the values that training sentences have of it, ascending; one of each hundredth of its
// range. Between values that are far from each other, it cannot be asked for.
using KnobSupport = std::map<std::string, std::vector<double>>;

// A knob set to something. A knob without a setting is left to the model.
struct KnobSetting {
  std::string knob;
  std::vector<double> values;  // As Knob::num_values says.
  bool operator==(const KnobSetting&) const = default;
};

// "polarity=0.7", "mark=?:0.6,.:0.4" (labels left out have weight 0), "mark=?". Throws Error that says what is allowed
// for unknown knobs, values out of range and weights that do not sum to one. The paper's names of requests are read by
// control_as_knob(), in paper_controls.h.
KnobSetting parse_setting(std::span<const Knob> knobs, std::string_view text);
std::string to_string(std::span<const Knob> knobs, const KnobSetting& setting);

// The columns that a model reads a request from: for each knob whether it is stated, then the graded meanings of its
// value. A knob that is not stated has only zeros.
std::size_t request_columns(std::span<const Knob> knobs);
// Throws Error as parse_setting does, or if a knob is set twice.
std::vector<float> request_row(std::span<const Knob> knobs, std::span<const KnobSetting> settings);

}  // namespace semfuse
