#include "evaluation/knob_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "core/nearest_word.h"
#include "core/random.h"
#include "features/knob_index.h"
#include "features/knob_support.h"
#include "features/text_labels.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kDistributions = 12;
constexpr std::size_t kJointSettings = 12;
// Every side effect is measured against nothing stated, so that is known better than a level.
constexpr std::size_t kUnstatedLevels = 4;
constexpr double kNormal95 = 1.959964;

// Sentences that are made at once: few enough to stop soon and to need little memory.
constexpr std::size_t kTextsAtOnce = 256;
constexpr std::size_t kPerThread = 64;

std::vector<double> random_weights(std::size_t count, RandomStream& random) {
  std::vector<double> weights;
  for (std::size_t i = 0; i < count; ++i) weights.push_back(-std::log(1.0 - random.next_uniform()));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

KnobSetting random_setting(const Knob& knob, RandomStream& random) {
  if (knob.kind == KnobKind::distribution) return {knob.name, random_weights(knob.labels.size(), random)};
  return {knob.name, {knob.low + (knob.high - knob.low) * random.next_uniform()}};
}

KnobSetting corner_setting(const Knob& knob, std::size_t corner) {
  if (knob.kind != KnobKind::distribution) return {knob.name, {corner % 2 == 0 ? knob.low : knob.high}};
  KnobSetting setting{knob.name, std::vector<double>(knob.labels.size())};
  setting.values[corner % knob.labels.size()] = 1.0;
  return setting;
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) result[order[i]] = static_cast<double>(first + end - 1) / 2.0;
    first = end;
  }
  return result;
}

// Levels that ask for the same count as one, at their mean: no order is asked of them.
double spearman_of_means(const std::vector<double>& requested, const std::vector<double>& values) {
  std::map<double, std::pair<double, double>> sums;
  for (std::size_t i = 0; i < requested.size(); ++i) {
    sums[requested[i]].first += values[i];
    sums[requested[i]].second += 1.0;
  }
  std::vector<double> x;
  std::vector<double> y;
  for (const auto& [asked, sum] : sums) {
    x.push_back(asked);
    y.push_back(sum.first / sum.second);
  }
  return spearman(x, y);
}

// Whether values from elsewhere are some of these knobs.
bool fits(const std::vector<Knob>& knobs, const std::vector<Realised>& values) {
  return std::ranges::equal(knobs, values, [](const Knob& knob, const Realised& one) {
    return one.values.size() == knob.num_values() && one.half_widths.size() == knob.num_values();
  });
}

// What cannot be asked for of a knob, with those of the levels that lie there.
std::vector<std::string> gaps_of(const Knob& knob, const KnobSupport& support, const std::vector<SweepLevel>& levels) {
  std::vector<std::string> gaps = support_gaps(knob, support);
  for (std::string& gap : gaps) {
    std::vector<std::string> inside;
    for (const SweepLevel& level : levels) {
      const KnobSetting& setting = level.requested.front();
      if (missing_support(knob, support, setting) == gap) inside.push_back(fmt::format("{:.4g}", setting.values[0]));
    }
    gap += inside.empty() ? ": nothing there can be asked for"
                          : fmt::format(": {} cannot be asked for", fmt::join(inside, ", "));
  }
  return gaps;
}

void summarise(const std::vector<Knob>& knobs, const std::vector<Realised>& unstated, KnobSweep& sweep) {
  std::vector<double> requested;
  std::vector<double> values;
  double error = 0.0;
  double side_effect = 0.0;
  std::size_t num_side_effects = 0;
  for (const SweepLevel& level : sweep.levels) {
    std::vector<bool> stated(knobs.size());
    for (const KnobSetting& setting : level.requested) {
      const std::size_t index = knob_index(knobs, setting.knob);
      stated[index] = true;
      for (std::size_t i = 0; i < setting.values.size(); ++i) {
        requested.push_back(setting.values[i]);
        values.push_back(level.realised[index].values[i]);
        error += std::abs(values.back() - requested.back());
      }
    }
    for (std::size_t k = 0; k < knobs.size(); ++k) {
      for (std::size_t i = 0; !stated[k] && i < unstated[k].values.size(); ++i) {
        const double change = std::abs(level.realised[k].values[i] - unstated[k].values[i]);
        if (knobs[k].of_column) continue;  // A text shows nothing of it.
        side_effect += change;
        ++num_side_effects;
        sweep.largest_side_effect = std::max(sweep.largest_side_effect, change);
      }
    }
  }
  sweep.mean_absolute_error = error / static_cast<double>(values.size());
  if (num_side_effects > 0) sweep.mean_side_effect = side_effect / static_cast<double>(num_side_effects);
  if (sweep.knobs.size() > 1) return;
  sweep.spearman = sweep.gaps.empty() ? spearman_of_means(requested, values) : std::numeric_limits<double>::quiet_NaN();
  const std::size_t index = knob_index(knobs, sweep.knobs.front());
  if (knobs[index].kind == KnobKind::distribution) return;
  if (knobs[index].kind == KnobKind::scalar) {
    std::vector<const Realised*> of_levels;
    for (const SweepLevel& level : sweep.levels) of_levels.push_back(&level.realised[index]);
    sweep.texts = text_match(requested, of_levels);
  }
  for (std::size_t i = 1; i < sweep.levels.size(); ++i) {
    const Realised& before = sweep.levels[i - 1].realised[index];
    const Realised& after = sweep.levels[i].realised[index];
    if (after.values[0] + std::hypot(before.half_widths[0], after.half_widths[0]) < before.values[0])
      ++sweep.violations;
  }
}

}  // namespace

void RealisedCount::Ratio::add(double part, double whole) {
  if (whole == 0.0) return;
  if (below == 0.0) origin = part / whole;
  const double distance = part - origin * whole;
  above += part;
  below += whole;
  squares += distance * distance;
  products += distance * whole;
  wholes += whole * whole;
}

double RealisedCount::Ratio::variance() const {
  // The sum of (part - ratio * whole)^2, from the sums of the distances to the origin.
  const double shift = above / below - origin;
  return std::max(squares - 2.0 * shift * products + shift * shift * wholes, 0.0);
}

double RealisedCount::Ratio::half_width() const {
  return kNormal95 * std::sqrt(variance()) / below;
}

RealisedCount::RealisedCount(const Knob& knob, std::optional<double> asked)
    : knob_(knob), asked_(asked), ratios_(knob.num_values()) {}

void RealisedCount::add(const KnobLabel& label) {
  switch (knob_.kind) {
    case KnobKind::probability:
      ratios_[0].add(static_cast<double>(label.positive), static_cast<double>(label.positive + label.negative));
      break;
    case KnobKind::scalar:
      ratios_[0].add(label.value.value_or(0.0), label.value ? 1.0 : 0.0);
      if (label.value && asked_) distances_ += std::abs(*label.value - *asked_);
      break;
    case KnobKind::distribution:
      for (std::size_t i = 0; i < ratios_.size(); ++i)
        ratios_[i].add(label.label == i ? 1.0 : 0.0, label.label ? 1.0 : 0.0);
      break;
  }
}

Realised RealisedCount::result() const {
  Realised result;
  for (const Ratio& ratio : ratios_) {
    result.values.push_back(ratio.above / ratio.below);
    result.half_widths.push_back(ratio.half_width());
  }
  if (knob_.kind == KnobKind::scalar) {
    result.distance = distances_ / ratios_[0].below;
    result.deviation = std::sqrt(ratios_[0].variance() / ratios_[0].below);
  }
  return result;
}

TextMatch text_match(const std::vector<double>& asked, const std::vector<const Realised*>& levels) {
  const auto n = static_cast<double>(asked.size());
  double mean_asked = 0.0, mean = 0.0;
  TextMatch match;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    mean_asked += asked[i] / n;
    mean += levels[i]->values[0] / n;
    match.distance += levels[i]->distance / n;
  }
  double both = 0.0, of_asked = 0.0, of_texts = 0.0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const double apart = levels[i]->values[0] - mean;
    both += (asked[i] - mean_asked) * apart;
    of_asked += (asked[i] - mean_asked) * (asked[i] - mean_asked);
    of_texts += apart * apart + levels[i]->deviation * levels[i]->deviation;
  }
  match.correlation = both / std::sqrt(of_asked * of_texts);
  return match;
}

Realised realised(const Knob& knob, const std::vector<Sentence>& sentences, const Lexicon& lexicon) {
  RealisedCount count(knob);
  for (const Sentence& sentence : sentences) count.add(sentence, lexicon);
  return count.result();
}

std::vector<KnobSetting> sweep_settings(const Knob& knob, std::size_t levels) {
  std::vector<KnobSetting> settings;
  if (knob.kind != KnobKind::distribution) {
    for (std::size_t i = 0; i < levels; ++i) {
      const double place = static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(levels - 1, 1));
      settings.push_back({knob.name, {i + 1 == levels ? knob.high : knob.low + (knob.high - knob.low) * place}});
    }
    return settings;
  }
  const std::size_t labels = knob.labels.size();
  for (std::size_t i = 0; i < labels; ++i) settings.push_back(corner_setting(knob, i));
  for (std::size_t i = 0; i < labels; ++i) {
    for (std::size_t j = i + 1; j < labels; ++j) {
      settings.push_back({knob.name, std::vector<double>(labels)});
      settings.back().values[i] = settings.back().values[j] = 0.5;
    }
  }
  // Then the labels in every order with weights that rise evenly: 1/6, 2/6, 3/6 of three labels.
  std::vector<double> weights(labels);
  for (std::size_t i = 0; i < labels; ++i)
    weights[i] = 2.0 * static_cast<double>(i + 1) / static_cast<double>(labels * (labels + 1));
  do {
    if (settings.size() >= kDistributions) return settings;
    settings.push_back({knob.name, weights});
  } while (std::ranges::next_permutation(weights).found);
  RandomStream random(0, RandomPurpose::requests);
  while (settings.size() < kDistributions) settings.push_back(random_setting(knob, random));
  return settings;
}

std::vector<std::vector<KnobSetting>> joint_settings(const std::vector<Knob>& knobs) {
  const std::size_t corners = std::min<std::size_t>(kJointSettings / 2, std::size_t{1} << knobs.size());
  std::vector<std::vector<KnobSetting>> result;
  RandomStream random(0, RandomPurpose::requests, /*step=*/1);
  for (std::size_t s = 0; s < kJointSettings; ++s) {
    result.emplace_back();
    for (std::size_t k = 0; k < knobs.size(); ++k) {
      result.back().push_back(s < corners ? corner_setting(knobs[k], s >> k) : random_setting(knobs[k], random));
    }
  }
  return result;
}

std::vector<std::string> swept_knobs(const std::vector<Knob>& knobs, const std::vector<std::string>& asked,
                                     const std::string& origin) {
  std::vector<std::string> names;
  names.reserve(knobs.size());
  for (const Knob& knob : knobs) names.push_back(knob.name);
  if (names.empty()) {
    throw Error(fmt::format("{}: the model has no knobs; train one that has (model.knobs)", origin));
  }
  std::vector<std::string> measurable;  // A text does not say of itself what a column said of it.
  for (const Knob& knob : knobs) {
    if (!knob.of_column) measurable.push_back(knob.name);
  }
  for (const std::string& name : asked) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(fmt::format("--knob: there is no knob {}{}; knobs of this model are {}", quoted_text(name),
                              did_you_mean(name, names), fmt::join(names, ", ")));
    }
    if (std::find(measurable.begin(), measurable.end(), name) == measurable.end()) {
      throw Error(
          fmt::format("--knob: {} is of a column, and a text does not say what its column would; knobs that can "
                      "be swept: {}",
                      name, measurable.empty() ? "none" : fmt::format("{}", fmt::join(measurable, ", "))));
    }
  }
  if (measurable.empty()) {
    throw Error(
        fmt::format("{}: its knobs are all of columns, and a text does not say what its column would; add one "
                    "of the text itself, such as \"length: scalar of length from 1 to 30\"",
                    origin));
  }
  return asked.empty() ? measurable : asked;
}

std::optional<SweepResult> sweep_knobs(const LanguageModel& model, const std::vector<std::string>& names,
                                       const SweepOptions& options, std::size_t threads, const SweepHooks& hooks) {
  const std::vector<Knob>& knobs = model.options().knobs;
  SweepResult result;
  const auto add_sweep = [&](const std::vector<Knob>& together, const std::vector<std::vector<KnobSetting>>& settings) {
    result.sweeps.emplace_back();
    for (const Knob& knob : together) result.sweeps.back().knobs.push_back(knob.name);
    for (const std::vector<KnobSetting>& setting : settings) result.sweeps.back().levels.push_back({setting, {}});
  };
  std::vector<Knob> swept;
  for (const Knob& knob : knobs) {
    if (names.empty() || std::find(names.begin(), names.end(), knob.name) != names.end()) swept.push_back(knob);
  }
  for (const Knob& knob : swept) {
    std::vector<std::vector<KnobSetting>> settings;
    for (KnobSetting& setting : sweep_settings(knob, options.levels)) settings.push_back({std::move(setting)});
    add_sweep({knob}, settings);
    KnobSweep& added = result.sweeps.back();
    if (knob.kind == KnobKind::scalar) added.gaps = gaps_of(knob, model.knob_support(), added.levels);
  }
  for (std::size_t i = 0; options.combinations && i < swept.size(); ++i) {
    for (std::size_t j = i + 1; j < swept.size(); ++j)
      add_sweep({swept[i], swept[j]}, joint_settings({swept[i], swept[j]}));
  }
  if (options.combinations && swept.size() > 2) add_sweep(swept, joint_settings(swept));

  SweepProgress progress{.levels = 1, .sentences = kUnstatedLevels * options.n};
  for (const KnobSweep& sweep : result.sweeps) {
    progress.levels += sweep.levels.size();
    progress.sentences += sweep.levels.size() * options.n;
  }
  const Generator generator(model, threads);
  const TextLabels text_labels(knobs, model.feature_bank());
  std::vector<KnobLabel> labels;
  // Nothing if the hook says no. Every level has sentences of its own.
  const auto measured = [&](const std::vector<KnobSetting>& settings,
                            std::size_t n) -> std::optional<std::vector<Realised>> {
    const GenerationRequest request{.sampling = options.sampling,
                                    .knobs = settings,
                                    .guidance = options.guidance,
                                    .calibrated = options.calibrated,
                                    .seed = mix_bits(options.seed) + progress.levels_done};
    std::vector<RealisedCount> counts;
    for (const Knob& knob : knobs) {
      const auto setting = std::ranges::find(settings, knob.name, &KnobSetting::knob);
      counts.emplace_back(knob, setting == settings.end() ? std::nullopt : std::optional(setting->values[0]));
    }
    std::vector<GenerationRequest> requests;
    for (std::size_t first = 0; first < n; first += requests.size()) {
      if (hooks.go_on && !hooks.go_on(progress)) return std::nullopt;
      requests.assign(std::min(std::max(kTextsAtOnce, kPerThread * threads), n - first), request);
      for (std::size_t i = 0; i < requests.size(); ++i) requests[i].index = first + i;
      for (const Generation& generation : generator.generate(requests)) {
        if (generation.error) throw Error(*generation.error);
        if (model.tokenizer() != nullptr) {
          text_labels.read(generation.text, labels);
          for (std::size_t k = 0; k < counts.size(); ++k) counts[k].add(labels[k]);
          continue;
        }
        for (RealisedCount& count : counts) count.add(generation.words, model.feature_bank().lexicon());
      }
      progress.sentences_done += requests.size();
    }
    std::vector<Realised> values;
    values.reserve(counts.size());
    for (const RealisedCount& count : counts) values.push_back(count.result());
    return values;
  };
  const auto level = [&](const std::vector<KnobSetting>& settings,
                         std::size_t n) -> std::optional<std::vector<Realised>> {
    std::string name = std::to_string(progress.levels_done);
    for (const KnobSetting& setting : settings) name += ' ' + to_string(knobs, setting);
    std::optional<std::vector<Realised>> values = hooks.known ? hooks.known(name) : std::nullopt;
    if (values && fits(knobs, *values)) {
      progress.sentences -= n;
    } else {
      values = measured(settings, n);
      if (!values) return values;
      if (hooks.measured) hooks.measured(name, *values);
    }
    ++progress.levels_done;
    return values;
  };
  std::optional<std::vector<Realised>> values = level({}, kUnstatedLevels * options.n);
  if (!values) return std::nullopt;
  result.unstated = std::move(*values);
  for (KnobSweep& sweep : result.sweeps) {
    for (SweepLevel& one : sweep.levels) {
      values = level(one.requested, options.n);
      if (!values) return std::nullopt;
      one.realised = std::move(*values);
    }
    summarise(knobs, result.unstated, sweep);
  }
  return result;
}

double spearman(const std::vector<double>& x, const std::vector<double>& y) {
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (x.size() < 2 || !std::ranges::all_of(x, is_finite) || !std::ranges::all_of(y, is_finite)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const std::vector<double> rank_x = ranks(x);
  const std::vector<double> rank_y = ranks(y);
  const double mean = static_cast<double>(x.size() - 1) / 2.0;
  double xy = 0.0;
  double xx = 0.0;
  double yy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (rank_x[i] - mean) * (rank_y[i] - mean);
    xx += (rank_x[i] - mean) * (rank_x[i] - mean);
    yy += (rank_y[i] - mean) * (rank_y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

}  // namespace semfuse
