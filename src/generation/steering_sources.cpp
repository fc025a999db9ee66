#include "generation/steering_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "generation/pplm_source.h"
#include "generation/value_source.h"
#include "kernels/softmax.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

// <pad> and <bos> are never drawn, so they count nowhere.
template <typename T>
std::span<T> words_of(std::span<T> logits) {
  return logits.subspan(Vocabulary::kEos);
}

double log_sum(std::span<const float> logits) {
  return log_sum_exp(logits.data(), logits.size());
}

class ExpertsText : public TextState {
 public:
  ExpertsText(const ReadModel& expert, const ReadModel& anti, double strength)
      : expert_(expert), anti_(anti), strength_(strength) {}

  void add_readings(std::span<const TokenId>, const RequestRows::Asked& asked,
                    std::vector<Reading>& readings) override {
    readings.push_back({.request = asked.row});
    readings.push_back({.model = &expert_});
    readings.push_back({.model = &anti_});
  }
  void combine(const SourcePlace&, std::span<const ReadRows> readings) override {
    add_experts(words_of(readings[0].next()), words_of(readings[1].next()), words_of(readings[2].next()), strength_);
  }

 private:
  const ReadModel& expert_;
  const ReadModel& anti_;
  double strength_;
};

class PosteriorText : public TextState {
 public:
  PosteriorText(const ReadModel* model, const std::vector<float>& yes, const std::vector<float>& no, double target,
                double strength, std::optional<double> scale)
      : model_(model), yes_(yes), no_(no), target_(target), strength_(strength), scale_(scale) {}

  void add_readings(std::span<const TokenId> tokens, const RequestRows::Asked& asked,
                    std::vector<Reading>& readings) override {
    // One row more for each token that came without being drawn: what stands before it says how probable it was.
    const std::size_t num_rows = tokens.size() - num_read_;
    readings.push_back({.request = asked.row});
    readings.push_back({.model = model_, .request = yes_, .num_rows = num_rows});
    readings.push_back({.model = model_, .request = no_, .num_rows = num_rows});
  }

  void combine(const SourcePlace& place, std::span<const ReadRows> readings) override {
    const ReadRows& yes = readings[1];
    const ReadRows& no = readings[2];
    if (num_read_ > 0) so_far_ += ratios_[static_cast<std::size_t>(place.tokens[num_read_])];
    for (std::size_t r = 0; r + 1 < yes.logits.rows(); ++r) {
      const TokenId token = place.tokens[num_read_ + r + 1];
      so_far_ += log_probability(yes, r, token) - log_probability(no, r, token);
    }
    num_read_ = place.tokens.size();
    const std::span<float> logits = readings[0].next();
    ratios_.resize(logits.size());
    log_ratios(words_of(yes.next()), words_of(no.next()), words_of(std::span(ratios_)));
    z_.resize(logits.size() - Vocabulary::kEos);
    posterior_log_odds(words_of(std::span<const float>(ratios_)), so_far_, num_read_, z_,
                       scale_.value_or(static_cast<double>(num_read_)));
    // As published, <eos> like any other.
    tilt_logits(words_of(logits).data(), z_.data(), z_.size(), static_cast<float>(2.0 * target_),
                static_cast<float>(2.0 - 2.0 * target_), static_cast<float>(strength_));
  }

 private:
  static double log_probability(const ReadRows& rows, std::size_t row, TokenId token) {
    const std::span<const float> all(rows.logits.row(row), rows.logits.cols());
    return all[static_cast<std::size_t>(token)] - log_sum(words_of(all));
  }
  const ReadModel* model_;
  const std::vector<float>& yes_;
  const std::vector<float>& no_;
  double target_;
  double strength_;
  std::optional<double> scale_;
  std::size_t num_read_ = 0;   // Tokens of the text when it was last combined,
  double so_far_ = 0.0;        // ln of their likelihoods' ratio,
  std::vector<float> ratios_;  // and what each token adds that comes next.
  std::vector<float> z_;
};

class SteerText : public TextState {
 public:
  SteerText(const AlignedFloats& map, const TokenHead& head, double factor) : map_(map), head_(head), factor_(factor) {}

  void add_readings(std::span<const TokenId>, const RequestRows::Asked& asked,
                    std::vector<Reading>& readings) override {
    readings.push_back({.request = asked.row});
  }
  void combine(const SourcePlace&, std::span<const ReadRows> readings) override {
    const std::span<const float> hidden = readings.front().next_hidden();
    moved_.resize(hidden.size());
    const Matrix moved(moved_.data(), 1, moved_.size());
    matmul({hidden.data(), 1, hidden.size()}, {.data = map_.data(), .depth = hidden.size(), .cols = hidden.size()},
           moved);
    for (std::size_t j = 0; j < hidden.size(); ++j) {
      moved_[j] = static_cast<float>(hidden[j] + factor_ * moved_[j]);
    }
    const std::span<float> logits = readings.front().next();
    head_.forward(moved, {logits.data(), 1, logits.size()});
  }

 private:
  const AlignedFloats& map_;
  const TokenHead& head_;
  double factor_;
  std::vector<float> moved_;
};

void require_strength(double strength) {
  constexpr double kMost = 100.0;
  if (strength >= 0.0 && strength <= kMost) return;
  throw Error(fmt::format("steering: strength must be from 0 to {}; 0 changes nothing", kMost));
}

void require_target(const std::string& knob, double target) {
  if (target >= 0.0 && target <= 1.0) return;
  throw Error(fmt::format("steering: {} must be from 0 to 1", knob));
}

}  // namespace

void add_experts(std::span<float> logits, std::span<const float> expert, std::span<const float> anti, double strength) {
  assert(logits.size() == expert.size() && logits.size() == anti.size());
  const double expert_sum = log_sum(expert);
  const double anti_sum = log_sum(anti);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>(logits[i] + strength * ((expert[i] - expert_sum) - (anti[i] - anti_sum)));
  }
}

void log_ratios(std::span<const float> yes, std::span<const float> no, std::span<float> ratios) {
  assert(yes.size() == ratios.size() && no.size() == ratios.size());
  const double yes_sum = log_sum(yes);
  const double no_sum = log_sum(no);
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    ratios[i] = static_cast<float>((yes[i] - yes_sum) - (no[i] - no_sum));
  }
}

void posterior_log_odds(std::span<const float> ratios, double so_far, std::size_t num_tokens, std::span<float> z,
                        double scale) {
  assert(ratios.size() == z.size());
  for (std::size_t i = 0; i < z.size(); ++i) {
    z[i] = static_cast<float>((so_far + ratios[i]) * scale / static_cast<double>(num_tokens));
  }
}

std::unique_ptr<TextState> ExpertsSource::open(const ReadModel&, const GenerationRequest&) const {
  return std::make_unique<ExpertsText>(expert_, anti_, strength_);
}

std::unique_ptr<TextState> PosteriorSource::open(const ReadModel&, const GenerationRequest&) const {
  return std::make_unique<PosteriorText>(model_.get(), yes_, no_, target_, strength_, scale_);
}

FudgeSource::FudgeSource(const LanguageModel& model, const SteeringHead& head, double target, double strength)
    : classifier_(head, model.vocabulary().size()),
      ends_(ends_of(head, model.vocabulary().size())),
      target_(target),
      share_(head.share),
      strength_(strength) {}

std::unique_ptr<TextState> FudgeSource::open(const ReadModel&, const GenerationRequest&) const {
  const auto log_odds = [this](std::span<const TokenId> tokens, std::span<const float>, std::span<const TokenId> next,
                               std::span<float> z) { classifier_.read(tokens, next, z); };
  return std::make_unique<TiltedText>(log_odds, ends_, target_, share_, strength_);
}

SteerSource::SteerSource(const LanguageModel& model, const SteeringHead& head, double target, double strength)
    : factor_(strength * (2.0 * target - 1.0)) {
  const SteeringHead::Tensor& map = head.tensor("map.weight");
  const std::size_t width = model.options().width;
  if (map.shape != std::vector{width, width}) {
    throw Error("the head was trained for a model of another size; train one for this model");
  }
  map_ = AlignedFloats(packed_size(width, width));
  pack_transposed({map.values.data(), width, width}, map_.data());
}

std::unique_ptr<TextState> SteerSource::open(const ReadModel& model, const GenerationRequest&) const {
  return std::make_unique<SteerText>(map_, model.weights().head, factor_);
}

std::shared_ptr<const LogitSource> steering_source(const LanguageModel& model, const SteeringHead& head, double target,
                                                   double strength) {
  require_strength(strength);
  require_target(head.knob, target);
  if (head.model != steering_fingerprint(model)) {
    throw Error("the head was trained on another model than this one; train one with `semfuse steer train`");
  }
  switch (head.method) {
    case SteeringMethod::value:
      return std::make_shared<ValueSource>(model, head, target, strength);
    case SteeringMethod::fudge:
      return std::make_shared<FudgeSource>(model, head, target, strength);
    case SteeringMethod::lm_steer:
      return std::make_shared<SteerSource>(model, head, target, strength);
    case SteeringMethod::pplm:
      return std::make_shared<PplmSource>(model, head, target, strength);
  }
  return nullptr;
}

std::shared_ptr<const LogitSource> posterior_source(std::shared_ptr<const LanguageModel> knob_model,
                                                    const LanguageModel& model, const std::string& knob, double target,
                                                    double strength, std::optional<double> scale) {
  require_strength(strength);
  require_target(knob, target);
  if (knob_model != nullptr) require_same_tokens(model, *knob_model, "gedi: the model that is asked");
  const std::vector<Knob>& knobs = (knob_model != nullptr ? *knob_model : model).options().knobs;
  const auto row = [&](double value) {
    return request_row(knobs, std::vector<KnobSetting>{{.knob = knob, .values = {value}}});
  };
  auto read = knob_model != nullptr ? std::make_shared<const ReadModel>(std::move(knob_model)) : nullptr;
  return std::make_shared<PosteriorSource>(std::move(read), row(1.0), row(0.0), target, strength, scale);
}

std::shared_ptr<const LogitSource> experts_source(const LanguageModel& model,
                                                  std::shared_ptr<const LanguageModel> expert,
                                                  std::shared_ptr<const LanguageModel> anti, double strength) {
  require_strength(strength);
  require_same_tokens(model, *expert, "dexperts: the expert");
  require_same_tokens(model, *anti, "dexperts: the anti-expert");
  return std::make_shared<ExpertsSource>(std::move(expert), std::move(anti), strength);
}

}  // namespace semfuse
