#include "evaluation/knob_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/random.h"
#include "core/thread_pool.h"
#include "evaluation/response_curve.h"
#include "features/text_labels.h"
#include "generation/value_reader.h"
#include "model/model_access.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

// How guidance goes on where requests end.
constexpr std::array kGuidance = {1.0, 1.25, 1.5, 2.0, 3.0, 5.0};
// Of a head, which costs no more for being strong; of a pretrained model it makes texts that the model seldom writes.
constexpr std::array kStrengths = {1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0};
// Of scalars, tried one after the other; more is worth a second reading if texts correlate by so much better.
constexpr std::array kScalarGuidance = {1.5, 2.0, 3.0};
constexpr double kWorthGuidance = 0.005;
// Of a head that takes sides, tried one after the other until texts are on the side that they are to be, but for so
// many times the share that the model writes of that side unasked: what is rare must be the clearer to be believed.
constexpr std::array kSideStrengths = {1.0, 1.5, 2.0, 3.0, 4.0, 6.0};
constexpr double kSideTolerance = 0.03;
constexpr std::size_t kCorrections = 2;           // Rounds after the first.
constexpr std::size_t kDistributionRequests = 6;  // Of a label, the others sharing the rest.
constexpr std::size_t kDistributionLevels = 12;
constexpr double kTolerance = 0.015;    // Of the range: what nothing reaches is not worth more guidance.
constexpr std::size_t kBesidePart = 3;  // Beside each label of another knob a point has so many times fewer texts.
constexpr std::size_t kFewestBeside = 100;
constexpr std::size_t kAtOnce = 512;  // Texts between two questions whether to go on.

// first, first + 1, ... up to last.
void append_places(double first, double last, std::vector<double>& places) {
  for (int i = 0; first + i <= last; ++i) places.push_back(first + i);
}

// All that one value of a knob can be asked for, in one line: requests with one guidance at the places 0 ... size
// - 1, and before and after them the first and the last with more and more.
class RequestPath {
 public:
  // Past its ends it takes these times the guidance.
  RequestPath(const Knob& knob, std::size_t value, std::size_t size, double guidance, std::span<const double> further)
      : knob_(&knob), value_(value), size_(size), guidance_(guidance), further_(further) {}

  double first() const { return knob_->kind == KnobKind::distribution ? 0.0 : -more(); }
  double last() const { return top() + more(); }
  double top() const { return static_cast<double>(size_ - 1); }

  CalibrationPoint at(double place) const {
    const double inside = std::clamp(place, 0.0, top());
    const double beyond = std::min(std::abs(place - inside), more());
    const auto step = std::min(static_cast<std::size_t>(beyond), further_.size() - 2);
    const double part = beyond - static_cast<double>(step);
    return {.asked = 0.0,
            .request = std::min(knob_->low + (knob_->high - knob_->low) * inside / top(), knob_->high),
            .guidance = guidance_ * (further_[step] + part * (further_[step + 1] - further_[step]))};
  }
  KnobSetting setting(double request) const {
    if (knob_->kind != KnobKind::distribution) return {knob_->name, {request}};
    const auto others = static_cast<double>(knob_->labels.size() - 1);
    KnobSetting setting{knob_->name, std::vector<double>(knob_->labels.size(), (1.0 - request) / others)};
    setting.values[value_] = request;
    return setting;
  }

 private:
  double more() const { return static_cast<double>(further_.size() - 1); }

  const Knob* knob_;
  std::size_t value_;
  std::size_t size_;
  double guidance_;
  std::span<const double> further_;
};

// What is asked of the model, whatever its map says.
struct Request {
  KnobSetting setting;
  double guidance = 1.0;
  std::optional<double> asked = std::nullopt;        // By a person, of a scalar; nothing: the setting.
  std::optional<KnobSetting> beside = std::nullopt;  // Of another knob, as its own map has it.
};

// Generates texts and has them judged. Every request has texts of its own.
class Measurement {
 public:
  Measurement(const LanguageModel& model, const Knob& knob, const Judge* judge, const CalibrateOptions& options)
      : model_(model),
        knob_(knob),
        judge_(judge),
        options_(options),
        generator_(model, options.threads),
        text_labels_({knob}, model.feature_bank()) {}

  // Nothing if it was told to stop.
  std::optional<std::vector<Realised>> realised(const std::vector<Request>& requests, std::size_t n) {
    if (requests.empty()) return std::vector<Realised>();
    std::vector<GenerationRequest> batch;
    std::vector<RealisedCount> counts;
    counts.reserve(requests.size());
    for (const Request& request : requests)
      counts.emplace_back(knob_, request.asked.value_or(request.setting.values.front()));
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < requests.size() * n;) {
      batch.clear();
      const std::size_t first = i;
      for (; i < requests.size() * n && batch.size() < kAtOnce; ++i) {
        const Request& request = requests[i / n];
        batch.push_back(generation_request(request));
        GenerationRequest& made = batch.back();
        made.max_tokens = options_.max_tokens;
        made.seed = mix_bits(options_.seed) + num_requests_ + i / n;
        made.index = i % n;
      }
      std::vector<Generation> generations = generator_.generate(batch);
      for (std::size_t g = 0; g < generations.size(); ++g) {
        if (generations[g].error) throw Error(*generations[g].error);
        if (judge_ != nullptr) {
          texts.push_back(std::move(generations[g].text));
        } else {
          counts[(first + g) / n].add(shown(generations[g]));
        }
      }
      num_done_ += batch.size();
      if (options_.go_on && !options_.go_on(done())) return std::nullopt;
    }
    if (judge_ != nullptr) {
      const std::vector<double> values = judge_->judge(texts);
      const std::size_t num_values = knob_.num_values();
      for (std::size_t t = 0; t < texts.size(); ++t)
        counts[t / n].add(decided(knob_, std::span(values).subspan(t * num_values, num_values)));
    }
    num_requests_ += requests.size();
    std::vector<Realised> results;
    results.reserve(counts.size());
    for (const RealisedCount& count : counts) results.push_back(count.result());
    return results;
  }

  // How guidance goes on past the ends of a path.
  std::span<const double> further() const {
    const bool is_own = ModelAccess::pretrained(model_) == nullptr;
    if (is_own && model_.heads().contains(knob_.name)) return kStrengths;
    return kGuidance;
  }

  // Whether texts take a side where a value between the ends is asked for: more strength makes them clearer there too.
  bool takes_sides() const {
    const auto head = model_.heads().find(knob_.name);
    return head != model_.heads().end() && sureness_of(head->second) > 1.0;
  }

  void expect(std::size_t num_texts) { num_expected_ = num_texts; }

 private:
  GenerationRequest generation_request(const Request& request) const {
    GenerationRequest made{.knobs = {request.setting}, .guidance = request.guidance, .calibrated = false};
    if (!request.beside) return made;
    const CalibratedRequest mapped = calibrated(model_.options().knobs, model_.calibration(), {&*request.beside, 1});
    made.knobs.push_back(mapped.settings.front());
    made.knob_guidance = {{.knob = request.beside->knob, .weight = mapped.guidance}};
    return made;
  }
  double done() const {
    return std::min(1.0, static_cast<double>(num_done_) / static_cast<double>(std::max(num_expected_, num_done_)));
  }
  KnobLabel shown(const Generation& generation) const {
    if (model_.tokenizer() == nullptr) return read_label(knob_, generation.words, model_.feature_bank().lexicon());
    std::vector<KnobLabel> labels;
    text_labels_.read(generation.text, labels);
    return labels[0];
  }

  const LanguageModel& model_;
  const Knob& knob_;
  const Judge* judge_;
  const CalibrateOptions& options_;
  Generator generator_;
  TextLabels text_labels_;
  std::size_t num_requests_ = 0, num_done_ = 0, num_expected_ = 0;
};

double place_of(const Knob& knob, std::size_t level, std::size_t levels) {
  if (level + 1 == levels) return knob.high;
  return knob.low + (knob.high - knob.low) * static_cast<double>(level) / static_cast<double>(levels - 1);
}

// Of the levels of a scalar.
TextMatch scalar_match(const Knob& knob, const std::vector<Realised>& levels) {
  std::vector<double> asked;
  std::vector<const Realised*> all;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    asked.push_back(place_of(knob, i, levels.size()));
    all.push_back(&levels[i]);
  }
  return text_match(asked, all);
}

// The map of one value of a knob.
class ValueMap {
 public:
  // `beside`: a setting of another knob that is asked for too.
  ValueMap(const Knob& knob, std::size_t value, const CalibrateOptions& options, Measurement& measurement,
           std::optional<KnobSetting> beside = std::nullopt)
      : knob_(knob),
        value_(value),
        options_(options),
        measurement_(measurement),
        beside_(std::move(beside)),
        path_(knob, value, path_levels(), 1.0, measurement.further()) {}

  // False if it was told to stop.
  bool fit() {
    if (!measure(inside())) return false;
    if (measurement_.takes_sides()) return choose_strengths();
    if (knob_.kind == KnobKind::scalar && !choose_guidance()) return false;
    if (!go_past_ends()) return false;
    std::vector<double> places;
    // Where the map leads, once more: there the curve must be right.
    for (std::size_t round = 0; round < kCorrections; ++round) {
      places.clear();
      const ResponseCurve before = curve();
      for (std::size_t level = is_distribution() ? 1 : 0; level < path_levels(); ++level)
        places.push_back(inverse(before, place_of(knob_, level, path_levels())));
      if (!measure(places)) return false;
    }
    return true;
  }

  std::vector<CalibrationPoint> points() const {
    const ResponseCurve fitted = curve();
    const std::size_t num_points = 2 * options_.levels - 1;
    std::vector<CalibrationPoint> points;
    for (std::size_t i = 0; i < num_points; ++i) {
      const double asked = place_of(knob_, i, num_points);
      if (measurement_.takes_sides()) {
        points.push_back(mixture(asked));
        continue;
      }
      points.push_back(path_.at(inverse(fitted, asked)));
      points.back().asked = asked;
    }
    // A label that is not asked for at all must not come, whatever else is asked for.
    if (is_distribution()) points.front() = {.asked = 0.0, .request = 0.0, .guidance = 1.0};
    return points;
  }

  // Whether what it is measured beside leaves no text that shows anything.
  bool shows_nothing() const { return shows_nothing_; }

  // Of the requests that are levels too, as they stand.
  const std::vector<Realised>& raw() const { return raw_; }

 private:
  bool is_distribution() const { return knob_.kind == KnobKind::distribution; }
  std::size_t path_levels() const { return is_distribution() ? kDistributionRequests : options_.levels; }

  std::vector<double> inside() const {
    std::vector<double> places;
    append_places(0.0, path_.top(), places);
    return places;
  }

  // Of a scalar each text counts, not the mean alone: guidance rises as long as texts follow better for it.
  bool choose_guidance() {
    double best = scalar_match(knob_, raw_).correlation;
    for (const double guidance : kScalarGuidance) {
      const RequestPath path =
          std::exchange(path_, RequestPath(knob_, value_, path_levels(), guidance, measurement_.further()));
      std::vector<ResponseCurve::Point> points = std::exchange(points_, {});
      if (!measure(inside())) return false;
      const double found = scalar_match(knob_, last_).correlation;
      if (!(found > best + kWorthGuidance)) {
        path_ = path;
        points_ = std::move(points);
        return true;
      }
      best = found;
    }
    return true;
  }

  double margin() const { return kTolerance * (knob_.high - knob_.low); }

  // With more guidance, only where requests alone do not reach.
  bool go_past_ends() {
    std::vector<double> places;
    const ResponseCurve alone = curve();
    if (alone.lowest() > knob_.low + margin()) append_places(path_.first(), -1.0, places);
    if (alone.highest() < knob_.high - margin()) append_places(path_.top() + 1.0, path_.last(), places);
    if (!measure(places)) return false;
    drop_spoilt_ends(path_.top(), margin(), points_);
    return true;
  }

  // Of each side the least that takes texts there, or that takes most of them.
  bool choose_strengths() {
    const auto share_of = [&](double end, double strength) -> std::optional<double> {
      const std::optional<std::vector<Realised>> found =
          measurement_.realised({{path_.setting(end), strength, std::nullopt, beside_}}, options_.n);
      if (!found) return std::nullopt;
      return found->front().values[value_];
    };
    const std::optional<double> unasked = share_of(knob_.high, 0.0);
    if (!unasked) return false;
    for (std::size_t s = 0; s < 2; ++s) {
      Side& side = sides_[s];
      const double end = s == 0 ? knob_.low : knob_.high;
      const double other = s == 0 ? knob_.high : knob_.low;
      side.realised = other;
      for (const double strength : kSideStrengths) {
        const std::optional<double> realised = share_of(end, strength);
        if (!realised) return false;
        const double error = std::abs(*realised - end);
        if (error < std::abs(side.realised - end)) side = {.strength = strength, .realised = *realised};
        if (error <= kSideTolerance * std::abs(*unasked - other)) break;
      }
    }
    return true;
  }

  // Of sides, the mixture of which comes to what is asked; each text takes the strength of its own.
  CalibrationPoint mixture(double asked) const {
    const double reach = sides_[1].realised - sides_[0].realised;
    const double part = (asked - knob_.low) / (knob_.high - knob_.low);
    const double request = reach > 0.0 ? std::clamp((asked - sides_[0].realised) / reach, 0.0, 1.0) : part;
    return {.asked = asked,
            .request = knob_.low + (knob_.high - knob_.low) * request,
            .guidance = sides_[0].strength + part * (sides_[1].strength - sides_[0].strength)};
  }

  bool measure(const std::vector<double>& places) {
    if (places.empty()) return true;
    std::vector<Request> requests;
    for (const double place : places) {
      const CalibrationPoint point = path_.at(place);
      requests.push_back({path_.setting(point.request), point.guidance, std::nullopt, beside_});
    }
    std::optional<std::vector<Realised>> results = measurement_.realised(requests, options_.n);
    if (!results) return false;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const double value = (*results)[i].values[value_];
      if (!std::isfinite(value)) continue;  // No text shows anything of it.
      points_.push_back({.place = places[i], .realised = value, .weight = static_cast<double>(options_.n)});
    }
    if (points_.empty() && beside_) {
      shows_nothing_ = true;
      return false;
    }
    if (points_.empty()) {
      throw Error(
          fmt::format("knob {}: no generated text shows any {}; train the model longer", knob_.name, knob_.source));
    }
    last_ = std::move(*results);
    if (raw_.empty()) raw_ = last_;
    return true;
  }

  ResponseCurve curve() const { return ResponseCurve(points_, knob_.kind != KnobKind::scalar); }
  double inverse(const ResponseCurve& of, double asked) const { return of.inverse(asked, margin()); }

  const Knob& knob_;
  std::size_t value_;
  const CalibrateOptions& options_;
  Measurement& measurement_;
  std::optional<KnobSetting> beside_;
  bool shows_nothing_ = false;
  RequestPath path_;
  struct Side {
    double strength = 1.0;
    double realised = 0.0;
  };
  std::array<Side, 2> sides_;
  std::vector<ResponseCurve::Point> points_;
  std::vector<Realised> raw_, last_;
};

void summarise(CalibrationResult& result) {
  double count = 0.0;
  for (const CalibrationLevel& level : result.levels) {
    for (std::size_t v = 0; v < level.asked.values.size(); ++v) {
      const double raw = std::abs(level.raw.values[v] - level.asked.values[v]);
      const double error = std::abs(level.calibrated.values[v] - level.asked.values[v]);
      result.raw_mean_error += raw;
      result.mean_error += error;
      result.raw_largest_error = std::max(result.raw_largest_error, raw);
      result.largest_error = std::max(result.largest_error, error);
      ++count;
    }
  }
  result.raw_mean_error /= count;
  result.mean_error /= count;
}

// Single labels of other knobs that a probability is measured beside: they may shift it.
std::vector<KnobSetting> settings_beside(const LanguageModel& model, const Knob& knob) {
  constexpr std::size_t kMost = 6;  // More would take longer than they are worth.
  std::vector<KnobSetting> settings;
  if (knob.kind != KnobKind::probability) return settings;
  for (const Knob& other : model.options().knobs) {
    if (other.kind != KnobKind::distribution || settings.size() + other.labels.size() > kMost) continue;
    for (std::size_t label = 0; label < other.labels.size(); ++label) {
      settings.push_back({.knob = other.name, .values = std::vector<double>(other.labels.size())});
      settings.back().values[label] = 1.0;
    }
  }
  return settings;
}

}  // namespace

std::optional<CalibrationResult> calibrate_knob(const LanguageModel& model, const Knob& knob, const Judge* judge,
                                                const CalibrateOptions& options) {
  if (knob.of_column && judge == nullptr) {
    throw Error(
        fmt::format("knob {}: texts do not show what column {} says of them; name a judge", knob.name, knob.source));
  }
  Measurement measurement(model, knob, judge, options);
  const bool is_distribution = knob.kind == KnobKind::distribution;
  const std::size_t of_ends = 2 * (measurement.further().size() - 1);
  std::vector<KnobSetting> others = settings_beside(model, knob);
  CalibrateOptions beside = options;
  beside.n = std::max(options.n / kBesidePart, std::min(options.n, kFewestBeside));
  measurement.expect(beside.n * others.size() * ((1 + kCorrections) * options.levels + of_ends) +
                     options.n * (is_distribution
                                      ? knob.num_values() * ((1 + kCorrections) * kDistributionRequests + of_ends / 2) +
                                            2 * kDistributionLevels
                                      : (2 + kCorrections) * options.levels + of_ends +
                                            (knob.kind == KnobKind::scalar ? options.levels : 0)));
  CalibrationResult result;
  result.map.judge = judge != nullptr ? judge->fingerprint() : "text";
  result.map.n = options.n;
  std::vector<Realised> raw;
  for (std::size_t value = 0; value < knob.num_values(); ++value) {
    ValueMap map(knob, value, options, measurement);
    if (!map.fit()) return std::nullopt;
    result.map.values.push_back(map.points());
    raw = map.raw();
  }
  for (KnobSetting& setting : others) {
    const auto label = static_cast<std::size_t>(std::ranges::max_element(setting.values) - setting.values.begin());
    const std::string name = setting.knob;
    ValueMap map(knob, 0, beside, measurement, std::move(setting));
    if (!map.fit()) {
      if (map.shows_nothing()) continue;
      return std::nullopt;
    }
    result.map.beside.push_back({.knob = name, .label = label, .points = map.points()});
  }
  check_calibration(knob, result.map);
  std::vector<Request> requests, raw_requests;
  for (KnobSetting& setting : sweep_settings(knob, options.levels)) {
    const CalibratedRequest mapped = calibrated({&knob, 1}, {{knob.name, result.map}}, {&setting, 1});
    requests.push_back({mapped.settings.front(), mapped.guidance, setting.values.front()});
    raw_requests.push_back({setting, 1.0});
    result.levels.push_back({.asked = std::move(setting), .raw = {}, .calibrated = {}});
  }
  if (is_distribution) {
    std::optional<std::vector<Realised>> measured = measurement.realised(raw_requests, options.n);
    if (!measured) return std::nullopt;
    raw = std::move(*measured);
  }
  const std::optional<std::vector<Realised>> measured = measurement.realised(requests, options.n);
  if (!measured) return std::nullopt;
  for (std::size_t i = 0; i < result.levels.size(); ++i) {
    result.levels[i].raw = raw[i];
    result.levels[i].calibrated = (*measured)[i];
  }
  if (knob.kind == KnobKind::scalar) {
    result.raw_texts = scalar_match(knob, raw);
    result.texts = scalar_match(knob, *measured);
  }
  summarise(result);
  return result;
}

}  // namespace semfuse
