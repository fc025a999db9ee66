#include "features/class_mass.h"

#include <cmath>
#include <map>

#include "features/graded_columns.h"

namespace semfuse {
namespace {

struct Kind {
  std::vector<float> features;  // The yes-or-no ones.
  double words = 0.0;           // Those of kinds that count for this one included.
  double shown = 0.0;
  std::vector<Kind*> counts_for;
};

}  // namespace

std::vector<float> class_mass_offsets(const FeatureMatrix& ungraded, const std::vector<bool>& shown) {
  constexpr std::size_t kFirstWord = Vocabulary::kEos + 1;
  std::map<std::vector<float>, Kind> kinds;
  std::vector<Kind*> kind_of(ungraded.num_rows, nullptr);
  for (std::size_t id = kFirstWord; id < ungraded.num_rows; ++id) {
    const auto first = ungraded.values.begin() + static_cast<std::ptrdiff_t>(id * ungraded.num_features);
    std::vector<float> key(first, first + static_cast<std::ptrdiff_t>(ungraded.num_features));
    std::vector<float> features = key;
    for (const GradedColumn& graded : graded_columns()) {
      key[graded.column] = key[graded.column] > 0.0f ? 1.0f : 0.0f;
      features[graded.column] = 0.0f;
    }
    Kind& kind = kinds[key];
    kind.features = std::move(features);
    kind.words += 1.0;
    kind.shown += shown[id] ? 1.0 : 0.0;
    kind_of[id] = &kind;
  }

  std::map<std::vector<float>, std::vector<Kind*>> shown_kinds;  // By their yes-or-no features.
  for (auto& [key, kind] : kinds) {
    if (kind.shown > 0.0) shown_kinds[kind.features].push_back(&kind);
  }
  for (auto& [key, kind] : kinds) {
    if (kind.shown > 0.0) continue;
    kind.counts_for = shown_kinds[kind.features];
    for (Kind* other : kind.counts_for) other->words += kind.words / static_cast<double>(kind.counts_for.size());
  }

  std::vector<float> offsets(ungraded.num_rows, 0.0f);
  for (std::size_t id = kFirstWord; id < ungraded.num_rows; ++id) {
    const Kind& kind = *kind_of[id];
    double share = kind.shown > 0.0 ? kind.shown / kind.words : 0.0;
    for (const Kind* other : kind.counts_for) {
      share += other->shown / other->words / static_cast<double>(kind.counts_for.size());
    }
    if (share == 0.0) share = 1.0 / kind.words;
    offsets[id] = static_cast<float>(std::log(share));
  }
  return offsets;
}

}  // namespace semfuse
