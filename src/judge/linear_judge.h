// A judge that is a sum of weights of n-grams: trained in seconds, read from a file of a few megabytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensor_archive.h"
#include "judge/judge.h"
#include "judge/text_slots.h"

namespace semfuse {

// What it computes: z = bias + Σ weights / √m over the m n-grams of a text that it knows; a probability is σ(z), a
// distribution softmax(z), a scalar z within its range.
struct JudgeWeights {
  Knob knob;  // What is judged; its source is the column that the labels were in.
  SlotOptions slots;
  std::vector<std::int32_t> known;  // Slots with weights, ascending.
  std::vector<float> weights;       // [known, values]
  std::vector<float> bias;          // [values]
};

class LinearJudge : public Judge {
 public:
  // The parts must fit together.
  explicit LinearJudge(JudgeWeights weights);

  // A safetensors file, as docs/file_formats.md says. Throws Error as "origin: what; what to do".
  static LinearJudge load(const std::filesystem::path& path);
  static LinearJudge parse(const TensorArchive& archive, const std::string& origin);
  // The same judge gives the same bytes.
  std::string bytes() const;

  const Knob& knob() const { return weights_.knob; }
  const JudgeWeights& weights() const { return weights_; }

  std::vector<double> judge(std::span<const std::string> texts) const override;
  // "0123456789abcdef"
  std::string fingerprint() const override;

  // Of one text, from its slots.
  void judge(std::span<const std::uint32_t> slots, std::span<double> values) const;

 private:
  JudgeWeights weights_;
  std::vector<std::int32_t> row_of_;  // By slot; -1: not known.
};

// σ, softmax or range of the sums z, in their place.
void to_values(const Knob& knob, std::span<double> z);

}  // namespace semfuse
