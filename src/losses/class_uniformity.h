// The uniformizer: within a class of words, the model should spread its probability evenly.
#pragma once

#include <span>
#include <vector>

#include "core/matrix_view.h"
#include "semfuse/lexicon.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// The paper's classes: the positive and the negative adjectives of the lexicon that the vocabulary has.
std::vector<std::vector<TokenId>> adjective_classes(const Vocabulary& vocabulary, const Lexicon& lexicon);

// For each class, the mean over the positions whose target is in it of KL(softmax over the class ‖ uniform); then the
// mean over the classes that occur. Immutable.
class ClassUniformity {
 public:
  explicit ClassUniformity(std::vector<std::vector<TokenId>> classes);

  const std::vector<std::vector<TokenId>>& classes() const { return classes_; }

  // How much one position of each class counts: 1 / (its positions · classes that occur); 0 for a class that does not
  // occur.
  std::vector<double> position_weights(std::span<const TokenId> targets) const;

  // One number of a gradient that is 0 nearly everywhere.
  struct LogitGradient {
    std::size_t row;
    TokenId token;
    float value;
  };

  // The weighted sum of KL over the rows; appends scale times its gradient. Sparse, so that the logits can turn into
  // the gradient of the cross-entropy in between.
  double evaluate(ConstMatrix logits, std::span<const TokenId> targets, std::span<const double> position_weights,
                  double scale, std::vector<LogitGradient>& gradient) const;

 private:
  bool contains(std::size_t word_class, TokenId token) const;
  std::vector<std::vector<TokenId>> classes_;  // Each sorted.
};

}  // namespace semfuse
