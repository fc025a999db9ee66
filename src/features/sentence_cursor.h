// The rows of a sentence that arrives word by word, for the paper's features where none of them looks ahead.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/feature_bank.h"

namespace semfuse {

// What a word costs does not depend on how many came before. Refers to the bank, which is of FeatureSet::semfuse, open
// or none. Copyable: a copy goes on by itself.
class SentenceCursor {
 public:
  explicit SentenceCursor(const FeatureBank& bank);

  // The row of what came last, which as constructed is <bos>: that of FeatureBank::prefix_rows(). Valid until the next
  // call.
  std::span<const float> row() const { return row_; }
  std::span<const float> append(std::string_view word);

 private:
  void evaluate(std::string_view word);

  const FeatureBank* bank_;
  std::size_t place_ = 0;  // Words so far.
  std::string before_;
  bool subject_named_ = false;
  std::vector<float> row_;
};

}  // namespace semfuse
