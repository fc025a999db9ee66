#include "training/request_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/random.h"
#include "features/knob_index.h"
#include "features/knob_support.h"
#include "features/text_labels.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kMaxTries = 10'000;  // Only a corpus in which a label is that rare ever gets there.
constexpr double kWholeNoise = 0.2;        // Of what only has whole values: more would take one for its neighbour.

bool is_beyond(const Knob& knob, const KnobLabel& label) {
  const double rounding = 1e-9 * (knob.high - knob.low);
  return label.value && (*label.value < knob.low - rounding || *label.value > knob.high + rounding);
}

// How probable a label is among those of sentences with as many if they are exchangeable.
double exchangeable(const Knob& knob, std::uint32_t count) {
  switch (knob.kind) {
    case KnobKind::probability:
      return 1.0 / static_cast<double>(count + 1);
    case KnobKind::distribution:
      return count == 0 ? 1.0 : 1.0 / static_cast<double>(knob.labels.size());
    default:
      return count == 0 ? 1.0 : 0.0;  // Beyond its range a scalar is not asked for.
  }
}

// Of an integer shape, at least 1: a sum of exponentials.
double gamma(std::size_t shape, RandomStream& random) {
  double sum = 0.0;
  for (std::size_t i = 0; i < shape; ++i) sum -= std::log(1.0 - random.next_uniform());
  return sum;
}

double normal(RandomStream& random) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - random.next_uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * random.next_uniform());
}

// `noise` is the deviation of a scalar.
std::vector<double> draw_values(const Knob& knob, const KnobLabel& label, double ends, double noise,
                                RandomStream& random) {
  if (ends > 0.0 && knob.kind != KnobKind::scalar && random.next_uniform() < ends) {
    if (std::vector<double> values = shown_values(knob, label); !values.empty()) return values;
  }
  switch (knob.kind) {
    case KnobKind::scalar: {
      const double range = knob.high - knob.low;
      // A sentence without a value says nothing.
      if (!label.value) return {knob.low + range * random.next_uniform()};
      return {std::clamp(*label.value + noise * normal(random), knob.low, knob.high)};
    }
    case KnobKind::distribution: {
      std::vector<double> weights;
      double sum = 0.0;
      for (std::size_t i = 0; i < knob.labels.size(); ++i) {
        weights.push_back(gamma(label.label == i ? 2 : 1, random));
        sum += weights.back();
      }
      for (double& weight : weights) weight /= sum;
      return weights;
    }
    default: {
      const double positive = gamma(1 + label.positive, random);
      const double negative = gamma(1 + label.negative, random);
      return {positive / (positive + negative)};
    }
  }
}

// What may give sentences a label of the knob.
std::string advice_for(const Knob& knob) {
  if (knob.of_column) return "fill in that column";
  if (knob.source == kLengthSource) return "take sentences that have words";
  if (knob.kind == KnobKind::distribution) return "take sentences that end in one of its marks, or name others";
  if (!feature_of(knob).empty()) return "take sentences that have words";
  return "give words that attribute in the lexicon";
}

}  // namespace

std::vector<double> shown_values(const Knob& knob, const KnobLabel& label) {
  if (knob.kind == KnobKind::scalar) {
    if (!label.value || is_beyond(knob, label)) return {};
    return {std::clamp(*label.value, knob.low, knob.high)};
  }
  if (knob.kind == KnobKind::distribution && label.label) {
    std::vector<double> weights(knob.labels.size());
    weights[*label.label] = 1.0;
    return weights;
  }
  const std::size_t count = label.positive + label.negative;
  if (knob.kind != KnobKind::probability || count == 0) return {};
  return {static_cast<double>(label.positive) / static_cast<double>(count)};
}

void RequestSampler::show(std::size_t sentence, RandomStream& random, std::vector<KnobLabel>& labels) const {
  labels.clear();
  for (std::size_t k = 0; k < knobs_.size(); ++k) {
    labels.push_back(dataset_.label(sentence, k));
    KnobLabel& label = labels.back();
    const std::span<const float> soft = dataset_.soft_label(sentence, k);
    if (soft.empty() || (label.positive + label.negative == 0 && !label.label)) continue;
    const double uniform = random.next_uniform();
    if (knobs_[k].kind == KnobKind::probability) {
      label.positive = uniform < static_cast<double>(soft[0]) ? 1 : 0;
      label.negative = 1 - label.positive;
      continue;
    }
    double sum = 0.0;
    for (std::size_t i = 0; i < soft.size(); ++i) {
      sum += static_cast<double>(soft[i]);
      label.label = i;
      if (uniform < sum) break;
    }
  }
}

RequestSampler::Pattern RequestSampler::pattern_of(std::span<const KnobLabel> labels) const {
  Pattern pattern(2 * knobs_.size());
  for (std::size_t k = 0; k < knobs_.size(); ++k) {
    const KnobLabel& label = labels[k];
    if (knobs_[k].kind == KnobKind::scalar) {
      pattern[2 * k] = is_beyond(knobs_[k], label) ? 1 : 0;
      continue;
    }
    const bool shares = knobs_[k].kind == KnobKind::probability;
    pattern[2 * k] = static_cast<std::uint32_t>(shares ? label.positive + label.negative : label.label.has_value());
    pattern[2 * k + 1] = static_cast<std::uint32_t>(shares ? label.positive : label.label.value_or(0));
  }
  return pattern;
}

RequestSampler::Pattern RequestSampler::stated_part(const Pattern& pattern, Stated stated) const {
  Pattern part(pattern.size());
  for (std::size_t k = 0; k < knobs_.size(); ++k) {
    if ((stated >> k & 1) == 0) continue;
    part[2 * k] = pattern[2 * k];
    part[2 * k + 1] = pattern[2 * k + 1];
  }
  return part;
}

double RequestSampler::chance(Stated stated, std::span<const KnobLabel> labels) const {
  const auto found = accept_[stated].find(stated_part(pattern_of(labels), stated));
  return found != accept_[stated].end() ? found->second : 1.0;  // Soft labels may draw what was not drawn to count.
}

RequestSampler::RequestSampler(std::vector<Knob> knobs, const Dataset& dataset, const RequestSamplerOptions& options)
    : knobs_(std::move(knobs)), dataset_(dataset), options_(options), num_columns_(request_columns(knobs_)) {
  constexpr std::size_t kManyValues = 100'000;
  std::map<Pattern, double> patterns;  // How many sentences have each.
  std::vector<bool> shown(knobs_.size());
  std::vector<bool> whole(knobs_.size(), true);
  std::vector<KnobLabel> labels;
  for (std::size_t s = 0; s < dataset.size(); ++s) {
    RandomStream random(options_.seed, RandomPurpose::soft_labels, s);
    show(s, random, labels);
    ++patterns[pattern_of(labels)];
    for (std::size_t k = 0; k < knobs_.size(); ++k) {
      const KnobLabel& label = labels[k];
      if (label.positive + label.negative > 0 || label.value || label.label) shown[k] = true;
      if (knobs_[k].kind != KnobKind::scalar || !label.value) continue;
      whole[k] = whole[k] && *label.value == std::round(*label.value);
      std::vector<double>& values = support_[knobs_[k].name];
      values.push_back(*label.value);
      if (values.size() > kManyValues) values = support_of(knobs_[k], std::move(values));
    }
  }
  for (std::size_t k = 0; k < knobs_.size(); ++k) {
    if (!shown[k]) {
      throw Error(fmt::format("knob {}: no training sentence shows any {}; {}, or leave it out of model.knobs",
                              knobs_[k].name, knobs_[k].source, advice_for(knobs_[k])));
    }
    const double noise = options_.noise * (knobs_[k].high - knobs_[k].low);
    noise_.push_back(whole[k] ? std::min(noise, kWholeNoise) : noise);
    if (knobs_[k].kind != KnobKind::scalar) continue;
    std::vector<double>& values = support_[knobs_[k].name];
    values = support_of(knobs_[k], std::move(values));
  }
  for (Stated stated = 0; stated < Stated{1} << knobs_.size(); ++stated) {
    std::map<Pattern, double> of_count;  // Sentences by the numbers of their labels, ...
    std::map<Pattern, double> of_label;  // ... and by the labels too.
    const auto counts_of = [](Pattern part) {
      for (std::size_t i = 1; i < part.size(); i += 2) part[i] = 0;
      return part;
    };
    for (const auto& [pattern, sentences] : patterns) {
      const Pattern part = stated_part(pattern, stated);
      of_count[counts_of(part)] += sentences;
      of_label[part] += sentences;
    }
    double most = 0.0;
    std::map<Pattern, double>& accept = accept_.emplace_back();
    for (const auto& [part, sentences] : of_label) {
      double weight = 1.0;
      for (std::size_t k = 0; k < knobs_.size(); ++k) {
        if ((stated >> k & 1) != 0) weight *= exchangeable(knobs_[k], part[2 * k]);
      }
      accept[part] = weight * of_count[counts_of(part)] / sentences;
      most = std::max(most, accept[part]);
    }
    // Where no sentence could take part, all do.
    for (auto& [part, probability] : accept) probability = most > 0.0 ? probability / most : 1.0;
  }
}

std::vector<KnobSetting> RequestSampler::draw(std::uint64_t epoch, std::size_t place, std::size_t& sentence) const {
  const std::size_t num_sentences = dataset_.size();
  RandomStream random(options_.seed, RandomPurpose::requests, epoch * num_sentences + place);
  Stated stated = 0;
  for (std::size_t i = 0; i < knobs_.size(); ++i) {
    if (random.next_uniform() < options_.stated) stated |= Stated{1} << i;
  }
  std::vector<KnobLabel> labels;
  show(sentence, random, labels);
  for (std::size_t tries = 0; tries < kMaxTries && random.next_uniform() >= chance(stated, labels); ++tries) {
    sentence = random.next_below(num_sentences);
    show(sentence, random, labels);
  }
  std::vector<KnobSetting> settings;
  for (std::size_t i = 0; i < knobs_.size(); ++i) {
    if ((stated >> i & 1) == 0) continue;
    settings.push_back(
        {.knob = knobs_[i].name, .values = draw_values(knobs_[i], labels[i], options_.ends, noise_[i], random)});
  }
  return settings;
}

void RequestSampler::draw(std::uint64_t epoch, std::size_t place, std::size_t& sentence,
                          std::span<float> columns) const {
  const std::vector<float> row = request_row(knobs_, draw(epoch, place, sentence));
  std::copy(row.begin(), row.end(), columns.begin());
}

}  // namespace semfuse
