#include "semfuse/knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>

#include "core/nearest_word.h"
#include "features/attribute_name.h"
#include "features/knob_index.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::string_view kFinalMark = "final_mark";
constexpr std::string_view kLength = "length";
constexpr std::size_t kMaxKnobs = 8;
constexpr std::size_t kMaxLabels = 64;
constexpr double kWeightTolerance = 1e-6;

// Memberships of a value are triangular, between neighbouring centres.
constexpr std::size_t kProbabilityCentres = 11;
constexpr std::size_t kScalarCentres = 17;
// The least probability that a request can tell from 0.
constexpr double kLeastProbability = 0.004;

std::size_t num_columns(const Knob& knob) {
  switch (knob.kind) {
    case KnobKind::scalar:
      return 1 + kScalarCentres;
    case KnobKind::distribution:
      return 1 + 2 * knob.labels.size();
    default:
      return 1 + kProbabilityCentres + 2;
  }
}

// `x` in [0, 1] among centres evenly spread over it.
void write_memberships(double x, std::span<float> columns) {
  const double place = x * static_cast<double>(columns.size() - 1);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i] = static_cast<float>(std::max(0.0, 1.0 - std::abs(place - static_cast<double>(i))));
  }
}

// From 0 for a probability of 1 to 1 for one of 0, by its logarithm: what a logit has to follow.
float rarity(double probability) {
  const double least = std::log(kLeastProbability);
  return static_cast<float>(std::clamp(std::log(probability + kLeastProbability) / least, 0.0, 1.0));
}

void encode(const Knob& knob, std::span<const double> values, std::span<float> columns) {
  columns[0] = 1.0f;
  const std::span<float> rest = columns.subspan(1);
  switch (knob.kind) {
    case KnobKind::scalar:
      write_memberships((values[0] - knob.low) / (knob.high - knob.low), rest);
      break;
    case KnobKind::distribution:
      for (std::size_t i = 0; i < values.size(); ++i) {
        rest[2 * i] = static_cast<float>(values[i]);
        rest[2 * i + 1] = rarity(values[i]);
      }
      break;
    case KnobKind::probability:
      write_memberships(values[0], rest.first(kProbabilityCentres));
      rest[kProbabilityCentres] = rarity(values[0]);
      rest[kProbabilityCentres + 1] = rarity(1.0 - values[0]);
      break;
  }
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return words;
    words.push_back(text.substr(0, text.find(' ')));
    text.remove_prefix(words.back().size());
  }
}

std::optional<double> number_in(std::string_view text) {
  double number = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::vector<std::string> names_of(std::span<const Knob> knobs) {
  std::vector<std::string> names;
  for (const Knob& knob : knobs) names.push_back(knob.name);
  return names;
}

const Knob& find_knob(std::span<const Knob> knobs, std::string_view name) {
  if (const std::size_t index = knob_index(knobs, name); index < knobs.size()) return knobs[index];
  if (knobs.empty()) {
    throw Error(fmt::format("knob {}: the model has no knobs; train one that has (model.knobs)", quoted_text(name)));
  }
  const std::vector<std::string> names = names_of(knobs);
  throw Error(fmt::format("unknown knob {}{}; knobs of this model are {}", quoted_text(name), did_you_mean(name, names),
                          fmt::join(names, ", ")));
}

// What a person may write after "=".
std::string allowed_values(const Knob& knob) {
  if (knob.kind != KnobKind::distribution) return fmt::format("a number from {} to {}", knob.low, knob.high);
  std::vector<std::string> parts;
  for (const std::string& label : knob.labels) parts.push_back(label + ":WEIGHT");
  return fmt::format("{} with weights from 0 to 1 that sum to 1", fmt::join(parts, ","));
}

void check_setting(const Knob& knob, std::span<const double> values) {
  const auto refuse = [&](const std::string& what) {
    throw Error(fmt::format("knob {}: {}; it takes {}", knob.name, what, allowed_values(knob)));
  };
  if (values.size() != knob.num_values()) refuse(fmt::format("has {} values", values.size()));
  // Negated, so that NaN is caught too.
  for (const double value : values) {
    if (!(value >= knob.low && value <= knob.high)) refuse(fmt::format("{} is out of range", value));
  }
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  if (knob.kind == KnobKind::distribution && !(std::abs(sum - 1.0) <= kWeightTolerance)) {
    refuse(fmt::format("the weights sum to {:.4g}", sum));
  }
}

std::vector<double> parse_weights(const Knob& knob, std::string_view text) {
  std::vector<double> weights(knob.labels.size(), -1.0);
  while (!text.empty()) {
    const auto refuse = [&](const std::string& what) {
      throw Error(fmt::format("knob {}: {}; it takes {}", knob.name, what, allowed_values(knob)));
    };
    // A label may itself hold a comma or a colon.
    const auto label = std::find_if(knob.labels.begin(), knob.labels.end(), [&](const std::string& candidate) {
      return text.starts_with(candidate) && text.substr(candidate.size()).starts_with(':');
    });
    if (label == knob.labels.end()) refuse(fmt::format("no label begins {}", quoted_text(text)));
    text.remove_prefix(label->size() + 1);
    const std::string_view cell = text.substr(0, text.find(','));
    const std::optional<double> weight = number_in(cell);
    if (!weight) refuse(fmt::format("{} is no number", quoted_text(cell)));
    double& target = weights[static_cast<std::size_t>(label - knob.labels.begin())];
    if (target >= 0.0) refuse(fmt::format("{} has two weights", *label));
    if (*weight < 0.0) refuse(fmt::format("{} is out of range", *weight));
    target = *weight;
    text.remove_prefix(std::min(text.size(), cell.size() + 1));
  }
  for (double& weight : weights) weight = std::max(weight, 0.0);
  return weights;
}

// The paper's names of a request in terms of knobs.
struct PaperControl {
  std::string_view name;
  std::string_view knob;
  std::string_view label;  // Of a distribution: the weight goes to it, the rest evenly to the others.
  bool opposite = false;
};

constexpr std::array<PaperControl, 5> kPaperControls = {{
    {.name = "pos_high", .knob = "polarity", .label = ""},
    {.name = "neg_high", .knob = "polarity", .label = "", .opposite = true},
    {.name = "str_high", .knob = "strength", .label = ""},
    {.name = "str_med", .knob = "strength", .label = ""},
    {.name = "is_question", .knob = "mark", .label = "?"},
}};

KnobSetting translate(std::span<const Knob> knobs, const PaperControl& control, std::string_view text) {
  const Knob& knob = find_knob(knobs, control.knob);
  const std::optional<double> value = number_in(text);
  if (!value || !(*value >= 0.0 && *value <= 1.0)) {
    throw Error(fmt::format("{}: {} is not a number from 0 to 1", control.name, quoted_text(text)));
  }
  KnobSetting setting{.knob = knob.name, .values = {control.opposite ? 1.0 - *value : *value}};
  if (knob.kind == KnobKind::distribution) {
    const auto label = std::find(knob.labels.begin(), knob.labels.end(), control.label);
    if (label == knob.labels.end()) {
      throw Error(fmt::format("{}: the knob {} has no label {}", control.name, knob.name, quoted_text(control.label)));
    }
    setting.values.assign(knob.labels.size(), (1.0 - *value) / static_cast<double>(knob.labels.size() - 1));
    setting.values[static_cast<std::size_t>(label - knob.labels.begin())] = *value;
  }
  check_setting(knob, setting.values);
  return setting;
}

}  // namespace

std::string_view to_string(KnobKind kind) {
  switch (kind) {
    case KnobKind::scalar:
      return "scalar";
    case KnobKind::distribution:
      return "distribution";
    default:
      return "probability";
  }
}

Knob parse_knob(std::string_view text) {
  const auto refuse = [&](const std::string& what) {
    throw Error(
        fmt::format("knob {}: {}; write \"NAME: probability of ATTRIBUTE\", \"NAME: scalar of ATTRIBUTE from LOW to "
                    "HIGH\" or \"NAME: distribution of final_mark over LABEL LABEL ...\"",
                    quoted_text(text), what));
  };
  const std::size_t colon = text.find(':');
  if (colon == text.npos) refuse("there is no colon after its name");
  Knob knob;
  knob.name = text.substr(0, colon);
  if (!is_attribute_name(knob.name)) refuse("its name must be of a-z, 0-9 and _");
  const std::vector<std::string_view> words = words_of(text.substr(colon + 1));
  if (words.size() < 3 || words[1] != "of" || !is_attribute_name(words[2])) refuse("it does not say what it is of");
  knob.source = words[2];
  const std::span<const std::string_view> rest = std::span(words).subspan(3);
  if (words[0] == to_string(KnobKind::probability)) {
    if (!rest.empty()) refuse("a probability needs no more than its source");
    if (knob.source == kFinalMark || knob.source == kLength) refuse("a probability is of an attribute of words");
  } else if (words[0] == to_string(KnobKind::scalar)) {
    knob.kind = KnobKind::scalar;
    const auto low = rest.size() == 4 && rest[0] == "from" && rest[2] == "to" ? number_in(rest[1]) : std::nullopt;
    const auto high = low ? number_in(rest[3]) : std::nullopt;
    if (!high || !(*low < *high)) refuse("a scalar needs a range");
    if (knob.source == kFinalMark) refuse("a final mark is no number");
    knob.low = *low;
    knob.high = *high;
  } else if (words[0] == to_string(KnobKind::distribution)) {
    knob.kind = KnobKind::distribution;
    if (knob.source != kFinalMark) refuse("a distribution is of final_mark");
    if (rest.size() < 3 || rest[0] != "over") refuse("a distribution needs two labels or more");
    for (const std::string_view label : rest.subspan(1)) {
      if (quoted_text(label) != fmt::format("\"{}\"", label)) refuse("a label is no word");
      if (std::find(knob.labels.begin(), knob.labels.end(), label) != knob.labels.end())
        refuse("a label appears twice");
      knob.labels.emplace_back(label);
    }
    if (knob.labels.size() > kMaxLabels) refuse(fmt::format("it has more than {} labels", kMaxLabels));
  } else {
    refuse("its kind must be probability, scalar or distribution");
  }
  return knob;
}

std::string to_string(const Knob& knob) {
  std::string text = fmt::format("{}: {} of {}", knob.name, to_string(knob.kind), knob.source);
  if (knob.kind == KnobKind::scalar) text += fmt::format(" from {} to {}", knob.low, knob.high);
  if (knob.kind == KnobKind::distribution) text += fmt::format(" over {}", fmt::join(knob.labels, " "));
  return text;
}

void check_knobs(std::span<const Knob> knobs) {
  if (knobs.size() > kMaxKnobs) throw Error(fmt::format("there are {} knobs; {} at most", knobs.size(), kMaxKnobs));
  std::set<std::string> names;
  for (const Knob& knob : knobs) {
    if (!names.insert(knob.name).second) throw Error(fmt::format("two knobs are called {}; rename one", knob.name));
  }
}

KnobLabel read_label(const Knob& knob, const Sentence& sentence, const Lexicon& lexicon) {
  KnobLabel result;
  if (knob.source == kFinalMark) {
    if (sentence.empty()) return result;
    const auto label = std::find(knob.labels.begin(), knob.labels.end(), sentence.back());
    if (label != knob.labels.end()) result.label = static_cast<std::size_t>(label - knob.labels.begin());
    return result;
  }
  if (knob.source == kLength) {
    result.value = static_cast<double>(sentence.size());
    return result;
  }
  double sum = 0.0;
  std::size_t count = 0;
  for (const std::string& word : sentence) {
    const LexiconEntry* entry = lexicon.find(word);
    const double value = entry == nullptr ? 0.0 : entry->attribute(knob.source);
    if (value == 0.0) continue;
    sum += value;
    ++count;
    ++(value > 0.0 ? result.positive : result.negative);
  }
  if (count > 0) result.value = sum / static_cast<double>(count);
  return result;
}

KnobSetting parse_setting(std::span<const Knob> knobs, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos) {
    throw Error(fmt::format("knob {}: there is no value; write NAME=VALUE", quoted_text(text)));
  }
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = text.substr(equals + 1);
  const bool declared = knob_index(knobs, name) < knobs.size();
  for (const PaperControl& control : kPaperControls) {
    if (!declared && control.name == name) return translate(knobs, control, value);
  }
  const Knob& knob = find_knob(knobs, name);
  KnobSetting setting{.knob = knob.name, .values = {}};
  if (knob.kind == KnobKind::distribution) {
    setting.values = parse_weights(knob, value);
  } else {
    const std::optional<double> number = number_in(value);
    if (!number) {
      throw Error(
          fmt::format("knob {}: {} is no number; it takes {}", knob.name, quoted_text(value), allowed_values(knob)));
    }
    setting.values = {*number};
  }
  check_setting(knob, setting.values);
  return setting;
}

std::string to_string(std::span<const Knob> knobs, const KnobSetting& setting) {
  const Knob& knob = find_knob(knobs, setting.knob);
  if (knob.kind != KnobKind::distribution) return fmt::format("{}={:.4g}", knob.name, setting.values.at(0));
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < knob.labels.size(); ++i) {
    if (setting.values.at(i) > 0.0) parts.push_back(fmt::format("{}:{:.4g}", knob.labels[i], setting.values[i]));
  }
  return fmt::format("{}={}", knob.name, fmt::join(parts, ","));
}

std::size_t request_columns(std::span<const Knob> knobs) {
  std::size_t columns = 0;
  for (const Knob& knob : knobs) columns += num_columns(knob);
  return columns;
}

std::vector<float> request_row(std::span<const Knob> knobs, std::span<const KnobSetting> settings) {
  std::vector<float> row(request_columns(knobs), 0.0f);
  std::set<std::string> done;
  for (const KnobSetting& setting : settings) {
    const Knob& knob = find_knob(knobs, setting.knob);
    check_setting(knob, setting.values);
    if (!done.insert(knob.name).second) throw Error(fmt::format("knob {} is set twice; remove one", knob.name));
    std::size_t first = 0;
    for (const Knob* before = knobs.data(); before != &knob; ++before) first += num_columns(*before);
    encode(knob, setting.values, std::span(row).subspan(first, num_columns(knob)));
  }
  return row;
}

}  // namespace semfuse
