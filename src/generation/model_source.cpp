#include "generation/model_source.h"

#include <algorithm>
#include <cmath>

#include "generation/guidance.h"

namespace semfuse {

namespace {

class ModelText : public TextState {
 public:
  void add_readings(std::span<const TokenId>, const RequestRows::Asked& asked,
                    std::vector<Reading>& readings) override {
    readings.push_back({.request = asked.row});
  }
  void combine(const SourcePlace&, std::span<const ReadRows>) override {}
  bool is_plain() const override { return true; }
};

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

class GuidedText : public TextState {
 public:
  void add_readings(std::span<const TokenId>, const RequestRows::Asked& asked,
                    std::vector<Reading>& readings) override {
    asked_ = &asked;
    readings.push_back({.request = asked.row});
    if (!is_plain()) readings.push_back({});
    for (const RequestRows::Part& part : asked.parts) readings.push_back({.request = part.row});
  }

  void combine(const SourcePlace& place, std::span<const ReadRows> readings) override {
    if (is_plain()) return;
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

  bool is_plain() const override { return asked_->parts.empty() && (asked_->row.empty() || asked_->guidance == 1.0); }

 private:
  const RequestRows::Asked* asked_ = nullptr;  // For the next token.
};

}  // namespace

std::unique_ptr<TextState> ModelSource::open(const ReadModel&, const GenerationRequest&) const {
  return std::make_unique<ModelText>();
}

std::unique_ptr<TextState> GuidanceSource::open(const ReadModel&, const GenerationRequest&) const {
  return std::make_unique<GuidedText>();
}

const LogitSource& usual_source(const GenerationRequest& request) {
  static const ModelSource plain;
  static const GuidanceSource guided;
  const bool may_be_mapped = request.calibrated;  // The model's calibration may take guidance.
  if (request.guidance == 1.0 && request.knob_guidance.empty() && !may_be_mapped) return plain;
  return guided;
}

}  // namespace semfuse
