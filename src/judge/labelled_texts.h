// Texts with what a column says of them, as judges are trained and measured on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "data/record_reader.h"
#include "judge/text_slots.h"
#include "semfuse/knobs.h"

namespace semfuse {

// Their n-grams and labels, not the texts themselves.
class LabelledTexts {
 public:
  LabelledTexts(Knob knob, const SlotOptions& slots) : knob_(std::move(knob)), options_(slots) {}

  // A text whose label says nothing is left out. Of more than kMost texts those stay whose hash is smallest, whatever
  // their order.
  void add(std::string_view text, const KnobLabel& label);
  static constexpr std::size_t kMost = 400'000;

  const Knob& knob() const { return knob_; }
  const SlotOptions& slot_options() const { return options_; }
  std::size_t size() const { return hashes_.size(); }
  std::span<const std::uint32_t> slots(std::size_t text) const {
    const std::size_t begin = text == 0 ? 0 : ends_[text - 1];
    return std::span(slots_).subspan(begin, ends_[text] - begin);
  }
  // 1 or 0 of a probability, the place of the label of a distribution, the value of a scalar.
  double target(std::size_t text) const { return targets_[text]; }
  std::uint64_t hash(std::size_t text) const { return hashes_[text]; }  // text_hash()

 private:
  void thin_out();

  Knob knob_;
  SlotOptions options_;
  std::uint64_t largest_hash_ = ~std::uint64_t{0};  // Texts beyond it are left out.
  std::vector<std::uint32_t> slots_;
  std::vector<std::size_t> ends_;
  std::vector<double> targets_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> scratch_;
};

// Reads the texts that `takes` says yes to (empty: all). Rows whose cell is no label of the knob are refused with their
// place, or left out if records.skip_bad. `on_progress` is told now and then how much is read. Throws Error as
// RecordReader does.
LabelledTexts read_labelled_texts(const std::vector<std::filesystem::path>& files, RecordOptions records,
                                  const Knob& knob, const SlotOptions& slots,
                                  const std::function<bool(std::string_view text)>& takes = {},
                                  const std::function<void(double done)>& on_progress = {});

}  // namespace semfuse
