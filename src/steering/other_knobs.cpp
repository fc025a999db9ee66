#include "steering/other_knobs.h"

#include <cmath>
#include <map>
#include <utility>

#include "core/random.h"
#include "features/knob_index.h"
#include "training/request_sampler.h"

namespace semfuse {

namespace {

constexpr double kAsItComes = 0.5;
constexpr double kStated = 0.5;
constexpr std::uint64_t kOfVisits = std::uint64_t{1} << 59;  // Draws count from here.

}  // namespace

OtherKnobs::OtherKnobs(std::span<const Knob> knobs, const std::string& own, const Dataset& dataset,
                       std::span<const float> labels)
    : knobs_(knobs), own_(knob_index(knobs, own)), dataset_(dataset) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> texts;  // By knob and label.
  for (std::size_t text = 0; text < labels.size(); ++text) {
    if (std::isnan(labels[text])) continue;
    labelled_.push_back(text);
    for (std::size_t k = 0; k < knobs_.size(); ++k) {
      if (k == own_) continue;
      const KnobLabel label = dataset.label(text, k);
      if (label.label) texts[{k, *label.label}].push_back(text);
      if ((label.positive == 0) != (label.negative == 0)) texts[{k, label.positive > 0 ? 1 : 0}].push_back(text);
    }
  }
  for (auto& [place, some] : texts) labels_.push_back({.knob = place.first, .texts = std::move(some)});
}

OtherKnobs::Visit OtherKnobs::visit(std::uint64_t seed, std::uint64_t draw) const {
  RandomStream random(seed, RandomPurpose::steering, kOfVisits + draw);
  const Label* from = nullptr;
  if (!labels_.empty() && random.next_uniform() >= kAsItComes) from = &labels_[random.next_below(labels_.size())];
  const std::vector<std::size_t>& texts = from != nullptr ? from->texts : labelled_;
  Visit visit{.text = texts[random.next_below(texts.size())], .asked = {}};
  for (std::size_t k = 0; k < knobs_.size(); ++k) {
    if (k == own_) continue;
    const bool stated = random.next_uniform() < kStated;
    if (!stated && (from == nullptr || from->knob != k)) continue;
    std::vector<double> values = shown_values(knobs_[k], dataset_.label(visit.text, k));
    if (!values.empty()) visit.asked.push_back({.knob = knobs_[k].name, .values = std::move(values)});
  }
  return visit;
}

}  // namespace semfuse
