// A lexicon of polarity from labels of whole texts: words and short phrases that one side uses more than the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/record_reader.h"

namespace semfuse {

struct InduceOptions {
  std::string label;                    // The column of the labels.
  std::optional<std::string> positive;  // The label of the positive side, where LabelSides does not know.
  RecordOptions records;                // Its columns are set by induce_lexicon.
  // A word must have been met so often. Raise it for a short lexicon of sure words.
  std::size_t min_count = 5;
  double min_z = 3.0;     // Standard errors that its log-odds must lie from 0.
  double held_out = 0.1;  // Share of texts, by their hash, that the lexicon is measured on and not made of.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  // Bytes, now and then.
};

// One word, or a phrase of two with a space between them, in lower case.
struct InducedWord {
  std::string words;
  double polarity = 0.0;       // In (-1, 1).
  std::uint64_t positive = 0;  // How often positive texts have it,
  std::uint64_t negative = 0;  // and negative ones.
};

// How polarity is found: log-odds d of a word in positive texts against negative ones, both smoothed by a prior of a
// tenth of the word's own frequency in all texts (Monroe et al. 2008, "Fightin' Words"); tanh(d / 2), which is by how
// much more often than not the word is in a positive text if there are as many of both sides. Phrases stay where they
// say something else than their words do (d differs from the words' sum by more than 1: "not good").
struct InducedLexicon {
  std::vector<InducedWord> words;  // From the most positive to the most negative.
  std::string meaning;             // Of the sides.
  std::uint64_t positive_texts = 0;
  std::uint64_t negative_texts = 0;
  // Of the held-out texts: those with a side, those whose sum of polarities has its sign, or is 0, and those of the
  // more frequent side, which a guess would get right.
  std::uint64_t held_out = 0;
  std::uint64_t held_out_right = 0;
  std::uint64_t held_out_undecided = 0;
  std::uint64_t held_out_majority = 0;
};

// Reads the files three times. Memory is bounded: of more than two million different words and phrases the rarest are
// forgotten. Throws Error as RecordReader and LabelSides do, and if a side has no text.
InducedLexicon induce_lexicon(const std::vector<std::filesystem::path>& files, const InduceOptions& options);

// As Lexicon::parse reads it: phrases with _ between their words, counts as notes.
std::string to_tsv(const InducedLexicon& lexicon);

// The sum of polarities over a text; a phrase counts instead of its words.
class PolaritySum {
 public:
  explicit PolaritySum(const std::vector<InducedWord>& words);
  double operator()(std::string_view text) const;

 private:
  std::unordered_map<std::string, double> polarity_;
};

}  // namespace semfuse
