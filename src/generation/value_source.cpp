#include "generation/value_source.h"

namespace semfuse {

void TiltedText::add_readings(std::span<const TokenId>, const RequestRows::Asked& asked,
                              std::vector<Reading>& readings) {
  readings.push_back({.request = asked.row});
}

void TiltedText::combine(const SourcePlace& place, std::span<const ReadRows> readings) {
  const ReadRows& rows = readings.front();
  const auto log_odds = [&](std::span<const TokenId> next, std::span<float> z) {
    log_odds_(place.tokens, rows.next_hidden(), next, z);
  };
  tilt_by_value(rows.next().subspan(Vocabulary::kEos), log_odds, target_, share_, strength_, ends_);
}

ValueSource::ValueSource(const LanguageModel& model, const SteeringHead& head, double target, double strength)
    : reader_(head, ReadModel(model).logit_rows()),
      ends_(ends_of(head, model.vocabulary().size())),
      target_(target),
      share_(head.share),
      sureness_(sureness_of(head)),
      strength_(sureness_ * strength) {}

std::unique_ptr<TextState> ValueSource::open(const ReadModel&, const GenerationRequest& request) const {
  const double target = sureness_ > 1.0 ? side_of(target_, request.seed, request.index, 0) : target_;
  const auto log_odds = [this](std::span<const TokenId> tokens, std::span<const float> hidden,
                               std::span<const TokenId> next,
                               std::span<float> z) { reader_.at(tokens, hidden).read(next, z); };
  return std::make_unique<TiltedText>(log_odds, ends_, target, share_, strength_);
}

}  // namespace semfuse
