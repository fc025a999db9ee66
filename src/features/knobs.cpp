#include "semfuse/knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/attribute_name.h"
#include "core/nearest_word.h"
#include "core/number_text.h"
#include "features/knob_index.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::string_view kFinalMark = "final_mark";
constexpr std::string_view kColumn = "column";
constexpr std::string_view kShare = kShareSource.substr(0, kShareSource.size() - 1);
constexpr std::string_view kFeature = kFeatureSource.substr(0, kFeatureSource.size() - 1);
constexpr std::size_t kMaxLabels = 64;
constexpr double kWeightTolerance = 1e-6;
constexpr double kLargestScalar = 1e30;  // What is computed of it must be a float.
constexpr double kLeastRange = 1e-30;

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

// The name of a column, which in quotes may hold spaces; the words of it are counted by `next`. Empty if the closing
// quote is missing.
std::string unquoted(std::string_view text, std::string_view first, std::size_t& next) {
  next = 4;
  if (!first.starts_with('"')) return std::string(first);
  const auto begin = static_cast<std::size_t>(first.data() - text.data()) + 1;
  const std::size_t end = text.find('"', begin);
  if (end == text.npos || (end + 1 < text.size() && text[end + 1] != ' ')) return {};
  next = 3 + words_of(text.substr(begin - 1, end + 1 - (begin - 1))).size();
  return std::string(text.substr(begin, end - begin));
}

// Labels are words; those of a column may have spaces and stand between commas.
std::vector<std::string_view> labels_in(std::string_view text, std::span<const std::string_view> words,
                                        bool of_column) {
  const auto begin = static_cast<std::size_t>(words.front().data() - text.data());
  std::string_view rest = text.substr(begin);
  if (!of_column || rest.find(',') == rest.npos) return {words.begin(), words.end()};
  std::vector<std::string_view> labels;
  while (true) {
    const std::size_t comma = rest.find(',');
    std::string_view label = rest.substr(0, comma);
    while (label.starts_with(' ')) label.remove_prefix(1);
    while (label.ends_with(' ')) label.remove_suffix(1);
    labels.push_back(label);
    if (comma == rest.npos) return labels;
    rest.remove_prefix(comma + 1);
  }
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
  return fmt::format("one label, or {} with weights from 0 to 1 that sum to 1", fmt::join(parts, ","));
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
  // A label alone has all of the weight.
  if (const auto alone = std::find(knob.labels.begin(), knob.labels.end(), text); alone != knob.labels.end()) {
    std::fill(weights.begin(), weights.end(), 0.0);
    weights[static_cast<std::size_t>(alone - knob.labels.begin())] = 1.0;
    return weights;
  }
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
    const std::optional<double> weight = number_of(cell);
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
        fmt::format("knob {}: {}; write \"NAME: probability of ATTRIBUTE\" (or of feature FEATURE), \"NAME: scalar of "
                    "ATTRIBUTE from LOW to HIGH\" (or of share FEATURE) or \"NAME: distribution of final_mark over "
                    "LABEL LABEL ...\", each "
                    "also \"of column "
                    "COLUMN\"",
                    quoted_text(text), what));
  };
  const std::size_t colon = text.find(':');
  if (colon == text.npos) refuse("there is no colon after its name");
  Knob knob;
  knob.name = text.substr(0, colon);
  if (!is_attribute_name(knob.name)) refuse("its name must be of a-z, 0-9 and _");
  const std::vector<std::string_view> words = words_of(text.substr(colon + 1));
  if (words.size() < 3 || words[1] != "of") refuse("it does not say what it is of");
  std::size_t next = 3;
  if (words[2] == kColumn && words.size() > 3) {
    knob.of_column = true;
    knob.source = unquoted(text, words[3], next);
    if (knob.source.empty()) refuse("the name of its column is not whole");
  } else if (words.size() > 3 && (words[2] == kShare || words[2] == kFeature) && words[3] != "from") {
    if (!is_attribute_name(words[3])) refuse("it does not name a feature");
    if (words[2] == kShare && words[0] != to_string(KnobKind::scalar)) refuse("a share is a scalar");
    if (words[2] == kFeature && words[0] != to_string(KnobKind::probability)) refuse("a feature has a probability");
    knob.source = fmt::format("{} {}", words[2], words[3]);
    next = 4;
  } else {
    if (!is_attribute_name(words[2])) refuse("it does not say what it is of");
    knob.source = words[2];
  }
  const std::span<const std::string_view> rest = std::span(words).subspan(next);
  const bool of_mark = !knob.of_column && knob.source == kFinalMark;
  if (words[0] == to_string(KnobKind::probability)) {
    if (!rest.empty()) refuse("a probability needs no more than its source");
    if (of_mark || (!knob.of_column && knob.source == kLengthSource))
      refuse("a probability is of an attribute of words");
  } else if (words[0] == to_string(KnobKind::scalar)) {
    knob.kind = KnobKind::scalar;
    const auto low = rest.size() == 4 && rest[0] == "from" && rest[2] == "to" ? number_of(rest[1]) : std::nullopt;
    const auto high = low ? number_of(rest[3]) : std::nullopt;
    if (!high || !(*low < *high)) refuse("a scalar needs a range");
    if (std::max(std::abs(*low), std::abs(*high)) > kLargestScalar || *high - *low < kLeastRange) {
      refuse(fmt::format("its range must lie between {:g} and {:g} and be at least {:g} wide", -kLargestScalar,
                         kLargestScalar, kLeastRange));
    }
    if (of_mark) refuse("a final mark is no number");
    knob.low = *low;
    knob.high = *high;
  } else if (words[0] == to_string(KnobKind::distribution)) {
    knob.kind = KnobKind::distribution;
    if (!of_mark && !knob.of_column) refuse("a distribution is of final_mark or of a column");
    if (rest.size() < 2 || rest[0] != "over") refuse("a distribution needs two labels or more");
    for (const std::string_view label : labels_in(text, rest.subspan(1), knob.of_column)) {
      if (label.empty() || quoted_text(label) != fmt::format("\"{}\"", label)) refuse("a label is no word");
      if (std::find(knob.labels.begin(), knob.labels.end(), label) != knob.labels.end())
        refuse("a label appears twice");
      knob.labels.emplace_back(label);
    }
    if (knob.labels.size() < 2) refuse("a distribution needs two labels or more");
    if (knob.labels.size() > kMaxLabels) refuse(fmt::format("it has more than {} labels", kMaxLabels));
  } else {
    refuse("its kind must be probability, scalar or distribution");
  }
  return knob;
}

std::string to_string(const Knob& knob) {
  std::string source = knob.source;
  if (knob.of_column) {
    const bool plain = knob.source.find(' ') == knob.source.npos && !knob.source.starts_with('"');
    source = plain ? fmt::format("{} {}", kColumn, knob.source) : fmt::format("{} \"{}\"", kColumn, knob.source);
  }
  std::string text = fmt::format("{}: {} of {}", knob.name, to_string(knob.kind), source);
  if (knob.kind == KnobKind::scalar) text += fmt::format(" from {} to {}", knob.low, knob.high);
  if (knob.kind == KnobKind::distribution)
    text += fmt::format(" over {}", fmt::join(knob.labels, knob.of_column ? ", " : " "));
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
  if (knob.of_column) return result;
  if (knob.source == kFinalMark) {
    if (sentence.empty()) return result;
    const std::string& last = sentence.back();
    auto label = std::find(knob.labels.begin(), knob.labels.end(), last);
    // A run of marks that is no label by itself ends as its last one does.
    if (label == knob.labels.end() && last.find_first_not_of(".!?,;:") == last.npos && !last.empty()) {
      label = std::find(knob.labels.begin(), knob.labels.end(), last.substr(last.size() - 1));
    }
    if (label != knob.labels.end()) result.label = static_cast<std::size_t>(label - knob.labels.begin());
    return result;
  }
  if (knob.source == kLengthSource) {
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

KnobLabel read_cell(const Knob& knob, std::string_view cell) {
  KnobLabel result;
  if (cell.empty()) return result;
  const auto refuse = [&](const std::string& what) {
    throw Error(
        fmt::format("column {} says {}, {}; mend it, or leave the cell empty", knob.source, quoted_text(cell), what));
  };
  switch (knob.kind) {
    case KnobKind::scalar: {
      result.value = number_of(cell);
      if (!result.value) refuse("which is no number");
      if (*result.value < knob.low || *result.value > knob.high)
        refuse(fmt::format("which is not from {} to {}", knob.low, knob.high));
      break;
    }
    case KnobKind::distribution: {
      const auto label = std::find(knob.labels.begin(), knob.labels.end(), cell);
      if (label == knob.labels.end()) refuse(fmt::format("which is no label of knob {}", knob.name));
      result.label = static_cast<std::size_t>(label - knob.labels.begin());
      break;
    }
    default: {
      constexpr std::array<std::string_view, 5> kPositive = {"1", "true", "yes", "pos", "positive"};
      constexpr std::array<std::string_view, 5> kNegative = {"0", "false", "no", "neg", "negative"};
      std::string lower(cell);
      std::ranges::transform(lower, lower.begin(),
                             [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
      const std::optional<double> number = number_of(cell);
      if (std::ranges::find(kPositive, lower) != kPositive.end() || number == 1.0) {
        result.positive = 1;
      } else if (std::ranges::find(kNegative, lower) != kNegative.end() || number == 0.0) {
        result.negative = 1;
      } else {
        refuse("which is neither 1 nor 0, true nor false, yes nor no, positive nor negative");
      }
    }
  }
  return result;
}

KnobSetting parse_setting(std::span<const Knob> knobs, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos) {
    throw Error(fmt::format("knob {}: there is no value; write NAME=VALUE", quoted_text(text)));
  }
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = text.substr(equals + 1);
  const Knob& knob = find_knob(knobs, name);
  KnobSetting setting{.knob = knob.name, .values = {}};
  if (knob.kind == KnobKind::distribution) {
    setting.values = parse_weights(knob, value);
  } else {
    const std::optional<double> number = number_of(value);
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
