// The distribution that the synthetic corpus is drawn from, exactly: states with the words that may follow and their
// probabilities. What the best possible predictor knows.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/corpus.h"

namespace semfuse {

class SyntheticDistribution {
 public:
  struct Choice {
    std::string_view word;  // "<eos>" after the final mark.
    double probability;
    std::size_t next;  // The state behind it.
  };

  static constexpr std::size_t kStart = 0;

  // Of sentences with a second clause at the given probability. Words left out are never drawn, as in training; their
  // class must have others.
  explicit SyntheticDistribution(double second_clause, const std::vector<std::string>& left_out = {});

  // Later states come behind earlier ones; the last, the end, has no choices.
  std::size_t num_states() const { return states_.size(); }
  const std::vector<Choice>& choices(std::size_t state) const { return states_[state]; }

  // By state, the probability that a sentence comes by.
  std::vector<double> visits() const;

  // ln of a sentence's probability, <eos> included; nothing if it cannot be drawn.
  std::optional<double> log_probability(const Sentence& sentence) const;

 private:
  std::vector<std::vector<Choice>> states_;
};

}  // namespace semfuse
