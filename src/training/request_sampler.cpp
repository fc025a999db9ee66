#include "training/request_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "core/random.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kMaxTries = 10'000;  // Only a corpus in which a label is that rare ever gets there.

// What a probability or distribution says of a sentence: the number of its labels, and which.
struct Pattern {
  std::size_t count = 0;
  std::size_t label = 0;
};

Pattern pattern_of(const Knob& knob, const KnobLabel& label) {
  switch (knob.kind) {
    case KnobKind::probability:
      return {label.positive + label.negative, label.positive};
    case KnobKind::distribution:
      return {label.label ? std::size_t{1} : 0, label.label.value_or(0)};
    default:
      return {};
  }
}

// How probable a pattern is among those of as many labels if they are exchangeable.
double exchangeable(const Knob& knob, const Pattern& pattern) {
  switch (knob.kind) {
    case KnobKind::probability:
      return 1.0 / static_cast<double>(pattern.count + 1);
    case KnobKind::distribution:
      return pattern.count == 0 ? 1.0 : 1.0 / static_cast<double>(knob.labels.size());
    default:
      return 1.0;
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

std::vector<double> draw_values(const Knob& knob, const KnobLabel& label, double noise, RandomStream& random) {
  switch (knob.kind) {
    case KnobKind::scalar: {
      const double range = knob.high - knob.low;
      // A sentence without a value says nothing.
      if (!label.value) return {knob.low + range * random.next_uniform()};
      return {std::clamp(*label.value + noise * range * normal(random), knob.low, knob.high)};
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

}  // namespace

RequestSampler::RequestSampler(std::vector<Knob> knobs, std::span<const Sentence> sentences, const Lexicon& lexicon,
                               const RequestSamplerOptions& options)
    : knobs_(std::move(knobs)), options_(options), num_columns_(request_columns(knobs_)) {
  for (const Sentence& sentence : sentences) {
    for (const Knob& knob : knobs_) labels_.push_back(read_label(knob, sentence, lexicon));
  }
  for (std::size_t k = 0; k < knobs_.size(); ++k) {
    const auto says_something = [&](std::size_t sentence) {
      const KnobLabel& label = labels_[sentence * knobs_.size() + k];
      return label.positive + label.negative > 0 || label.value || label.label;
    };
    std::size_t sentence = 0;
    while (sentence < sentences.size() && !says_something(sentence)) ++sentence;
    if (sentence == sentences.size()) {
      throw Error(
          fmt::format("knob {}: no training sentence shows any {}; give words that attribute in the lexicon, or leave "
                      "it out of model.knobs",
                      knobs_[k].name, knobs_[k].source));
    }
  }
  for (Stated stated = 0; stated < Stated{1} << knobs_.size(); ++stated) {
    using Key = std::vector<std::size_t>;
    std::map<Key, double> of_count;  // Sentences by the numbers of their labels, ...
    std::map<Key, double> of_label;  // ... and by the labels too.
    const auto visit = [&](std::size_t sentence, auto&& use) {
      Key counts;
      Key labels;
      double weight = 1.0;
      for (std::size_t i = 0; i < knobs_.size(); ++i) {
        if ((stated >> i & 1) == 0) continue;
        const Pattern pattern = pattern_of(knobs_[i], labels_[sentence * knobs_.size() + i]);
        weight *= exchangeable(knobs_[i], pattern);
        counts.push_back(pattern.count);
        labels.push_back(pattern.count);
        labels.push_back(pattern.label);
      }
      use(of_count[counts], of_label[labels], weight);
    };
    for (std::size_t s = 0; s < sentences.size(); ++s) {
      visit(s, [](double& count, double& label, double) { ++count, ++label; });
    }
    std::vector<double> accept(sentences.size());
    for (std::size_t s = 0; s < sentences.size(); ++s) {
      visit(s, [&](double count, double label, double weight) { accept[s] = weight * count / label; });
    }
    const double most = accept.empty() ? 1.0 : *std::max_element(accept.begin(), accept.end());
    for (double& probability : accept) probability /= most;
    accept_.push_back(std::move(accept));
  }
}

std::vector<KnobSetting> RequestSampler::draw(std::uint64_t epoch, std::size_t place, std::size_t& sentence) const {
  const std::size_t num_sentences = accept_[0].size();
  RandomStream random(options_.seed, RandomPurpose::requests, epoch * num_sentences + place);
  Stated stated = 0;
  for (std::size_t i = 0; i < knobs_.size(); ++i) {
    if (random.next_uniform() < options_.stated) stated |= Stated{1} << i;
  }
  for (std::size_t tries = 0; tries < kMaxTries && random.next_uniform() >= accept_[stated][sentence]; ++tries) {
    sentence = random.next_below(num_sentences);
  }
  std::vector<KnobSetting> settings;
  for (std::size_t i = 0; i < knobs_.size(); ++i) {
    if ((stated >> i & 1) == 0) continue;
    const KnobLabel& label = labels_[sentence * knobs_.size() + i];
    settings.push_back({.knob = knobs_[i].name, .values = draw_values(knobs_[i], label, options_.noise, random)});
  }
  return settings;
}

void RequestSampler::draw(std::uint64_t epoch, std::size_t place, std::size_t& sentence,
                          std::span<float> columns) const {
  const std::vector<float> row = request_row(knobs_, draw(epoch, place, sentence));
  std::copy(row.begin(), row.end(), columns.begin());
}

}  // namespace semfuse
