#include "generation/usual_source.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "generation/guidance.h"
#include "generation/value_reader.h"

namespace semfuse {

namespace {

std::span<float> words_of(const ReadRows& rows) {  // <pad> and <bos> are never drawn.
  return rows.next().subspan(Vocabulary::kEos);
}

// The largest logit of the tokens that may come next.
float most_probable(std::span<const float> logits, const TokenSet* allowed) {
  float most = -INFINITY;
  for (std::size_t id = Vocabulary::kEos; id < logits.size(); ++id) {
    if (allowed == nullptr || allowed->contains(static_cast<TokenId>(id))) most = std::max(most, logits[id]);
  }
  return most;
}

class UsualText : public TextState {
 public:
  explicit UsualText(const ReadModel& model) : model_(model) {}

  void add_readings(std::span<const TokenId>, const RequestRows::Asked& asked,
                    std::vector<Reading>& readings) override {
    asked_ = &asked;
    readings.push_back({.request = asked.row});
    if (is_guided()) readings.push_back({});
    for (const RequestRows::Part& part : asked.parts) readings.push_back({.request = part.row});
  }

  void combine(const SourcePlace& place, std::span<const ReadRows> readings) override {
    if (is_guided()) guide_next(place, readings);
    for (const RequestRows::Tilt& tilt : asked_->tilts) {
      const KnobReader& knob = *model_.knob_reader(tilt.knob);
      const std::span<float> logits = words_of(readings[0]);
      const ValueReader::Step step = knob.reader.at(place.tokens, readings[0].next_hidden(), &so_far_[tilt.knob]);
      const LogOdds log_odds = [&](std::span<const TokenId> next, std::span<float> z) { step.read(next, z); };
      if (asked_->row.empty()) {
        tilt_by_value(logits, log_odds, tilt.target, knob.share, tilt.strength, knob.ends);
        continue;
      }
      // Where a text ends, and in what, is what the other knobs ask for.
      std::vector<float> of_ends;
      for (const std::size_t i : knob.ends) of_ends.push_back(std::exchange(logits[i], -INFINITY));
      tilt_by_value(logits, log_odds, tilt.target, model_.share(tilt.knob, asked_->row), tilt.strength);
      for (std::size_t i = 0; i < knob.ends.size(); ++i) logits[knob.ends[i]] = of_ends[i];
    }
  }

  bool is_plain() const override { return !is_guided() && asked_->tilts.empty(); }

 private:
  bool is_guided() const { return !asked_->parts.empty() || (!asked_->row.empty() && asked_->guidance != 1.0); }

  void guide_next(const SourcePlace& place, std::span<const ReadRows> readings) const {
    const float most = most_probable(readings[0].next(), place.allowed);
    if (asked_->parts.empty()) {
      guide(words_of(readings[1]), words_of(readings[0]), asked_->guidance, most);
      return;
    }
    std::vector<GuidedPart> parts;
    for (std::size_t k = 0; k < asked_->parts.size(); ++k) {
      parts.push_back({.logits = words_of(readings[2 + k]), .weight = asked_->parts[k].weight});
    }
    guide(words_of(readings[1]), words_of(readings[0]), parts, most);
  }

  const ReadModel& model_;
  const RequestRows::Asked* asked_ = nullptr;                           // For the next token.
  std::map<std::string, PrefixClassifier::SoFar, std::less<>> so_far_;  // By knob: the text only grows.
};

}  // namespace

std::unique_ptr<TextState> UsualSource::open(const ReadModel& model, const GenerationRequest&) const {
  return std::make_unique<UsualText>(model);
}

const LogitSource& usual_source() {
  static const UsualSource source;
  return source;
}

}  // namespace semfuse
