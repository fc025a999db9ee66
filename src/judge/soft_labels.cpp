#include "judge/soft_labels.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/random.h"
#include "core/thread_pool.h"
#include "data/text_hash.h"
#include "judge/judge_training.h"

namespace semfuse {
namespace {

// The judges of one knob, by fold.
struct FoldedJudges {
  SoftColumns columns;
  std::vector<std::optional<LinearJudge>> judges;
};

}  // namespace

std::size_t fold_of(std::uint64_t hash) {
  constexpr std::uint64_t kSalt = 0x666F6C64;  // "fold"
  return mix_bits(hash + kSalt) % kFolds;
}

SoftLabels cross_fitted_labels(const PreparationOptions& data) {
  const SlotOptions slot_options;
  const auto takes = [&](std::string_view text) {
    return !(data.val.empty() && is_validation_text(text, data.val_share)) && !is_judge_text(text, data.judge_share);
  };
  ThreadPool pool(std::min(thread_count(data.threads), kFolds));
  const auto all = std::make_shared<std::vector<FoldedJudges>>();
  const std::vector<SoftColumns> columns = soft_columns(data.knobs);
  for (std::size_t k = 0; k < data.knobs.size(); ++k) {
    if (columns[k].count == 0) continue;
    const LabelledTexts texts = read_labelled_texts(
        data.train, {.text_column = data.text_column, .columns = {}, .skip_bad = data.skip_bad, .table = data.table},
        data.knobs[k], slot_options, takes);
    FoldedJudges folded{.columns = columns[k], .judges = std::vector<std::optional<LinearJudge>>(kFolds)};
    pool.run(kFolds, [&](std::size_t fold, std::size_t) {
      folded.judges[fold] =
          train_judge(texts, {}, [&](std::size_t text) { return fold_of(texts.hash(text)) != fold; }).judge;
    });
    all->push_back(std::move(folded));
  }
  return [all, slot_options](std::string_view text, std::span<float> values) {
    std::vector<std::uint32_t> slots;
    read_slots(text, slot_options, slots);
    const std::size_t fold = fold_of(text_hash(text));
    std::vector<double> said;
    for (const FoldedJudges& knob : *all) {
      said.resize(knob.columns.count);
      knob.judges[fold]->judge(slots, said);
      std::ranges::transform(said, values.begin() + static_cast<std::ptrdiff_t>(knob.columns.first),
                             [](double value) { return static_cast<float>(value); });
    }
  };
}

}  // namespace semfuse
