// What else texts are asked for while a head learns: a head then knows what is left to it where other knobs are set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "semfuse/dataset.h"
#include "semfuse/language_model.h"

namespace semfuse {

// Half of the visits are of texts as they come, asked for some of what they show. The others begin with a label of
// another knob, each as often, and take a text that shows it and is asked for it: what is rare must be learned too.
// Given what is asked, texts are as probable as in the dataset.
class OtherKnobs {
 public:
  // `labels` leave texts out that are NaN. The dataset's labels are those of the model's knobs; all must outlive it.
  OtherKnobs(std::span<const Knob> knobs, const std::string& own, const Dataset& dataset,
             std::span<const float> labels);

  struct Visit {
    std::size_t text;
    std::vector<KnobSetting> asked;
  };
  // A function of its arguments.
  Visit visit(std::uint64_t seed, std::uint64_t draw) const;

 private:
  std::span<const Knob> knobs_;
  std::size_t own_;
  const Dataset& dataset_;
  std::vector<std::size_t> labelled_;
  struct Label {
    std::size_t knob;
    std::vector<std::size_t> texts;
  };
  std::vector<Label> labels_;
};

}  // namespace semfuse
