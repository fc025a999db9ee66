#include "judge/labelled_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/random.h"
#include "data/text_hash.h"
#include "semfuse/error.h"

namespace semfuse {

void LabelledTexts::add(std::string_view text, const KnobLabel& label) {
  const std::uint64_t hash = text_hash(text);
  // Mixed again, since validation texts are chosen by the hash itself.
  if (mix_bits(hash) > largest_hash_) return;
  switch (knob_.kind) {
    case KnobKind::scalar:
      if (!label.value) return;
      targets_.push_back(*label.value);
      break;
    case KnobKind::distribution:
      if (!label.label) return;
      targets_.push_back(static_cast<double>(*label.label));
      break;
    default:
      if (label.positive + label.negative == 0) return;
      targets_.push_back(label.positive > label.negative ? 1.0 : 0.0);
  }
  read_slots(text, options_, scratch_);
  slots_.insert(slots_.end(), scratch_.begin(), scratch_.end());
  ends_.push_back(slots_.size());
  hashes_.push_back(hash);
  if (size() > kMost) thin_out();
}

void LabelledTexts::thin_out() {
  largest_hash_ /= 2;
  std::size_t kept = 0, end = 0, begin = 0;
  for (std::size_t i = 0; i < hashes_.size(); ++i) {
    const std::size_t next = ends_[i];
    if (mix_bits(hashes_[i]) <= largest_hash_) {
      std::copy(slots_.begin() + static_cast<std::ptrdiff_t>(begin), slots_.begin() + static_cast<std::ptrdiff_t>(next),
                slots_.begin() + static_cast<std::ptrdiff_t>(end));
      end += next - begin;
      ends_[kept] = end;
      hashes_[kept] = hashes_[i];
      targets_[kept++] = targets_[i];
    }
    begin = next;
  }
  slots_.resize(end);
  ends_.resize(kept);
  hashes_.resize(kept);
  targets_.resize(kept);
}

LabelledTexts read_labelled_texts(const std::vector<std::filesystem::path>& files, RecordOptions records,
                                  const Knob& knob, const SlotOptions& slots,
                                  const std::function<bool(std::string_view text)>& takes,
                                  const std::function<void(double done)>& on_progress) {
  records.columns = {knob.source};
  const bool skip_bad = records.skip_bad;
  RecordReader reader(files, std::move(records));
  LabelledTexts texts(knob, slots);
  constexpr std::uint64_t kBetweenReports = 4096;
  for (Record record; reader.next(record);) {
    if (on_progress && reader.counts().texts % kBetweenReports == 0) {
      on_progress(std::min(1.0, static_cast<double>(reader.bytes_read()) /
                                    static_cast<double>(std::max<std::uint64_t>(reader.bytes_total(), 1))));
    }
    if (takes && !takes(record.text)) continue;
    try {
      texts.add(record.text, read_cell(knob, record.cells[0].text));
    } catch (const Error& error) {
      if (skip_bad) continue;
      throw Error(fmt::format("{}: {}, or leave out such rows with --skip-bad", reader.place(record), error.what()));
    }
  }
  if (on_progress) on_progress(1.0);
  return texts;
}

}  // namespace semfuse
