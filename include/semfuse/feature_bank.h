// What words mean (Lexicon) and the graded, readable features computed from it (FeatureBank).
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "semfuse/corpus.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// What kind of word an entry of the lexicon is.
enum class WordClass { subject, pronoun, verb, object, intensifier, adjective, punctuation, other };

std::string_view to_string(WordClass word_class);
std::optional<WordClass> word_class_from_string(std::string_view name);

struct LexiconEntry {
  std::string word;
  WordClass word_class = WordClass::other;
  double polarity = 0.0;                    // -1 negative ... +1 positive; 0 for all but adjectives.
  double strength = 0.0;                    // 0 ... 1; how strong an intensifier is; 0 for all others.
  std::map<std::string, double> more = {};  // Attributes of a user's own, in [-1, 1]; none is 0.

  // By name, polarity and strength included; 0 if the word has no such attribute.
  double attribute(std::string_view name) const;
  bool operator==(const LexiconEntry&) const = default;
};

// A dictionary from word to class, polarity and strength. Immutable.
class Lexicon {
 public:
  // Throws Error if a word is empty or appears twice, or an attribute is out of its range.
  explicit Lexicon(std::vector<LexiconEntry> entries);

  // The words of the synthetic corpus, and "they", which it never draws: lexicons/synthetic.tsv.
  static Lexicon synthetic();

  // Reads lines of tab-separated columns: a heading `word class polarity strength` (the last two may be missing, and
  // attributes of any other name may follow), then a word each; an empty cell is 0, lines that begin with # and empty
  // ones do not count. Throws Error as "origin:line:
  // what" for anything else.
  static Lexicon parse(std::string_view tsv, std::string_view origin);
  static Lexicon load(const std::filesystem::path& path);

  const std::vector<LexiconEntry>& entries() const { return entries_; }
  const LexiconEntry* find(std::string_view word) const;

  // Words of a class with the given sign of polarity (0: any), in the lexicon's order.
  std::vector<std::string> words(WordClass word_class, int polarity_sign = 0) const;

 private:
  std::vector<LexiconEntry> entries_;
  std::unordered_map<std::string, std::size_t> index_;
};

// One row of features per token, row-major.
struct FeatureMatrix {
  std::size_t num_rows = 0;
  std::size_t num_features = 0;
  std::vector<float> values;
  const float* row(std::size_t i) const { return values.data() + i * num_features; }
};

// Which features a bank computes; both have the same names.
enum class FeatureSet {
  paper,   // As the authors do: strength comes from the token before, and a final "!" is felt in every row.
  semfuse  // No row depends on later text, is_noun is true of objects only, and an intensifier has its own strength.
};

std::string_view to_string(FeatureSet set);

// How a membership falls with the distance d = |x - c| / bandwidth from its centre.
enum class MembershipKernel {
  power,       // kernel_base^d
  triangular,  // max(0, 1 - d)
  gaussian     // exp(-d² / 2)
};

std::string_view to_string(MembershipKernel kernel);

// The low, medium and high of one attribute.
struct Memberships {
  std::array<double, 3> centers{};
  std::array<double, 3> widths{};
  bool operator==(const Memberships&) const = default;
};

// Of positivity, negativity and strength, the attributes that graded features are degrees of.
using AttributeMemberships = std::array<Memberships, 3>;

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

// The paper's 22 predicates of a token in its sentence, as a FeatureSet computes them.
class FeatureBank {
 public:
  // Throws Error if an option is out of its range.
  explicit FeatureBank(Lexicon lexicon, FeatureOptions options = {});

  const std::vector<std::string>& names() const;
  std::size_t size() const { return names().size(); }
  const Lexicon& lexicon() const { return lexicon_; }
  const FeatureOptions& options() const { return options_; }

  // As the options say, unless they were set.
  const AttributeMemberships& memberships() const { return memberships_; }
  // Throws Error unless centres ascend and widths are above 0.
  void set_memberships(const AttributeMemberships& memberships);

  // The semantic matrix: rows for <bos>, the words, <eos>. Words that the lexicon lacks count as `other`.
  FeatureMatrix rows(const Sentence& sentence) const;
  // The same of a sentence that goes on: rows for <bos> and the words. As in the authors' code, the paper's bank
  // makes the last row the object's while there are fewer than three words.
  FeatureMatrix prefix_rows(const Sentence& prefix) const;

  // What the features say of each entry by itself, in no sentence: lex(w), one row an id. <pad> has zeros only.
  FeatureMatrix word_rows(const Vocabulary& vocabulary) const;

  // For the library itself: the same bank with the attribute x itself wherever this one has a degree of it.
  FeatureBank ungraded() const;

 private:
  Lexicon lexicon_;
  FeatureOptions options_;
  AttributeMemberships memberships_;
  bool graded_ = true;
};

}  // namespace semfuse
