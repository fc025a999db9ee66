// The graded, readable features of the tokens of a text, computed from what is known of its words.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/corpus.h"
#include "semfuse/lexicon.h"
#include "semfuse/memberships.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// One row of features per token, row-major.
struct FeatureMatrix {
  std::size_t num_rows = 0;
  std::size_t num_features = 0;
  std::vector<float> values;
  const float* row(std::size_t i) const { return values.data() + i * num_features; }
};

// Which features a bank computes; the first three have the same names.
enum class FeatureSet {
  paper,    // As the authors do: strength comes from the token before, and a final "!" is felt in every row.
  semfuse,  // No row depends on later text, is_noun is true of objects only, and an intensifier has its own strength.
  open,     // The same, and an attribute of 0 has no degree: a word is slightly positive or not at all, never between.
  natural,  // Of any text, as a declaration says (banks/README.md): parts of speech, tense, negation, polarity, ...
  none      // No features at all: for models that only learn from the text and its knobs.
};
inline constexpr std::array kFeatureSets = {FeatureSet::paper, FeatureSet::semfuse, FeatureSet::open,
                                            FeatureSet::natural, FeatureSet::none};

std::string_view to_string(FeatureSet set);

struct FeatureOptions {
  FeatureSet bank = FeatureSet::paper;
  MembershipKernel kernel = MembershipKernel::power;
  double kernel_base = 0.9;                         // Base b of the membership b^(|x - c| / bandwidth), in (0, 1).
  std::array<double, 3> centers = {0.2, 0.6, 1.0};  // Centres of low, medium, high: ascending, in [0, 1].
  double bandwidth = 0.35;                          // Width of a membership, above 0.
  // A model that reads the features trains centres and widths, for each attribute and level its own, from these on.
  bool learn_kernel = false;
  // Added to the strength of every row when the sentence ends in "!"; in [0, 1]. The paper's bank only.
  double exclamation_nudge = 0.2;
};

class NaturalBank;     // Internal.
class SentenceCursor;  // Internal.
class WordVectors;     // Internal.

// The paper's 22 predicates of a token in its sentence, as a FeatureSet computes them; those of natural text; or none.
// Cheap enough to copy.
class FeatureBank {
 public:
  // FeatureSet::natural is English here, with the declaration and the tagger that the library carries; of others
  // make_feature_bank() makes one (experiment.h). Throws Error if an option is out of its range.
  explicit FeatureBank(Lexicon lexicon, FeatureOptions options = {});

  const std::vector<std::string>& names() const;
  std::size_t size() const { return names().size(); }
  const Lexicon& lexicon() const { return lexicon_; }
  const FeatureOptions& options() const { return options_; }

  // As the options say, unless they were set.
  const AttributeMemberships& memberships() const { return memberships_; }
  // Throws Error unless centres ascend and widths are above 0.
  void set_memberships(const AttributeMemberships& memberships);

  // The semantic matrix: rows for <bos>, the words, <eos>. Words that the lexicon lacks count as `other`. Natural text
  // as tokens that are no whole words has rows of its own (semfuse features --model shows them).
  FeatureMatrix rows(const Sentence& sentence) const;
  // The same of a sentence that goes on: rows for <bos> and the words. As in the authors' code, the paper's bank
  // makes the last row the object's while there are fewer than three words.
  FeatureMatrix prefix_rows(const Sentence& prefix) const;

  // What the features say of each entry by itself, in no sentence: lex(w), one row an id. <pad> has zeros only.
  FeatureMatrix word_rows(const Vocabulary& vocabulary) const;

  // The same bank for other words, or for the same that mean something else.
  FeatureBank with_lexicon(Lexicon lexicon) const;

 private:
  friend class FeatureBankAccess;
  friend class SentenceCursor;

  Lexicon lexicon_;
  FeatureOptions options_;
  AttributeMemberships memberships_;
  bool graded_ = true;
  std::shared_ptr<const NaturalBank> natural_;  // Of FeatureSet::natural only.
  std::shared_ptr<const WordVectors> vectors_;  // Null: words have none.
};

}  // namespace semfuse
