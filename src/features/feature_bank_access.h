// What the library itself and its tests may do with a FeatureBank; the public header shows none of it.
#pragma once

#include <utility>

#include "semfuse/feature_bank.h"

namespace semfuse {

class FeatureBankAccess {
 public:
  // The same bank with the attribute x itself wherever the given one has a degree of it.
  static FeatureBank ungraded(FeatureBank bank);

  // A bank of natural text, with the first of its lexicons.
  static FeatureBank of(std::shared_ptr<const NaturalBank> natural);
  // The same bank, and words have vectors; null: none.
  static FeatureBank with_vectors(FeatureBank bank, std::shared_ptr<const WordVectors> vectors) {
    bank.vectors_ = std::move(vectors);
    return bank;
  }
  static const std::shared_ptr<const WordVectors>& vectors(const FeatureBank& bank) { return bank.vectors_; }
  // Columns of a token's vector; 0 without vectors.
  static std::size_t num_vector_columns(const FeatureBank& bank);
  // word_rows() with each entry's vector after it: all that is fused or spoken through. Bytes have no vector.
  static FeatureMatrix token_rows(const FeatureBank& bank, const Vocabulary& vocabulary);

  // Null unless the bank is one.
  static const NaturalBank* natural(const FeatureBank& bank) { return bank.natural_.get(); }
  static const std::shared_ptr<const NaturalBank>& shared_natural(const FeatureBank& bank) { return bank.natural_; }
};

}  // namespace semfuse
