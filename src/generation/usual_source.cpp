#include "generation/usual_source.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "generation/guidance.h"
#include "generation/value_reader.h"
#include "kernels/softmax.h"

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

// How probable the label is of a text that has not begun; inside of what can be divided by.
double expected_share(std::span<const float> logits, std::span<const float> z) {
  constexpr double kLeast = 0.01;
  const double sum = log_sum_exp(logits.data(), logits.size());
  double share = 0.0;
  for (std::size_t i = 0; i < logits.size(); ++i) share += std::exp(logits[i] - sum) / (1.0 + std::exp(-z[i]));
  return std::clamp(share, kLeast, 1.0 - kLeast);
}

class UsualText : public TextState {
 public:
  explicit UsualText(const ReadModel& model) : model_(model) {}

  void add_readings(std::span<const TokenId> tokens, const RequestRows::Asked& asked,
                    std::vector<Reading>& readings) override {
    asked_ = &asked;
    // How probable a label is where other knobs are asked for is read off the text's beginning.
    reads_beginning_ = !asked.tilts.empty() && !asked.row.empty() && (shares_.empty() || asked.row != row_of_shares_);
    readings.push_back({.request = asked.row, .num_rows = reads_beginning_ ? tokens.size() : 1});
    if (is_guided()) readings.push_back({});
    for (const RequestRows::Part& part : asked.parts) readings.push_back({.request = part.row});
  }

  void combine(const SourcePlace& place, std::span<const ReadRows> readings) override {
    if (reads_beginning_) read_shares(place, readings[0]);
    if (is_guided()) guide_next(place, readings);
    for (std::size_t k = 0; k < asked_->tilts.size(); ++k) {
      const RequestRows::Tilt& tilt = asked_->tilts[k];
      const KnobReader& knob = *model_.knob_reader(tilt.knob);
      const std::span<float> logits = words_of(readings[0]);
      const ValueReader::Step step = knob.reader.at(place.tokens, readings[0].next_hidden());
      const LogOdds log_odds = [&](std::span<const TokenId> next, std::span<float> z) { step.read(next, z); };
      if (asked_->row.empty()) {
        tilt_by_value(logits, log_odds, tilt.target, knob.share, tilt.strength, knob.ends);
        continue;
      }
      // Where a text ends, and in what, is what the other knobs ask for.
      std::vector<float> of_ends;
      for (const std::size_t i : knob.ends) of_ends.push_back(std::exchange(logits[i], -INFINITY));
      tilt_by_value(logits, log_odds, tilt.target, shares_[k], tilt.strength);
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

  void read_shares(const SourcePlace& place, const ReadRows& rows) {
    const std::span<const float> logits(rows.logits.row(0), rows.logits.cols());
    const std::span<const float> hidden(rows.hidden.row(0), rows.hidden.cols());
    std::vector<TokenId> words(logits.size() - Vocabulary::kEos);
    std::iota(words.begin(), words.end(), TokenId{Vocabulary::kEos});
    std::vector<float> z(words.size());
    shares_.clear();
    for (const RequestRows::Tilt& tilt : asked_->tilts) {
      model_.knob_reader(tilt.knob)->reader.at(place.tokens.first(1), hidden).read(words, z);
      shares_.push_back(expected_share(logits.subspan(Vocabulary::kEos), z));
    }
    row_of_shares_ = asked_->row;
  }

  const ReadModel& model_;
  const RequestRows::Asked* asked_ = nullptr;  // For the next token.
  bool reads_beginning_ = false;
  std::vector<double> shares_;  // Of each tilt, where this is asked:
  std::vector<float> row_of_shares_;
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
