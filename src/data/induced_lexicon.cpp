#include "data/induced_lexicon.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/lower_case.h"
#include "data/label_sides.h"
#include "data/text_hash.h"
#include "io/quoted_text.h"
#include "semfuse/corpus.h"
#include "semfuse/error.h"
#include "text/word_scanner.h"

namespace semfuse {
namespace {

constexpr std::size_t kMostCounted = std::size_t{2} << 20;
constexpr std::size_t kLongestWord = 40;
constexpr double kPriorShare = 0.1;
constexpr double kPhraseDifference = 1.0;
constexpr std::uint64_t kRecordsBetweenReports = 4096;

struct Counts {
  std::uint64_t positive = 0;
  std::uint64_t negative = 0;
  std::uint64_t all() const { return positive + negative; }
};

using CountMap = std::unordered_map<std::string, Counts>;

// A word that a lexicon can hold: it has a letter, and no _, which joins the words of a phrase.
bool is_countable(std::string_view word) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  };
  return word.size() <= kLongestWord && word.find('_') == word.npos && std::ranges::any_of(word, is_letter) &&
         (word[0] == '\'' || !WordScanner::is_mark(word));
}

// The countable words of a text in lower case, cut as features see them; an empty one where something else stands,
// which no phrase spans.
void words_of(std::string_view text, std::vector<std::string>& words) {
  words.clear();
  for (const ScannedWord& place : scan_words(text)) {
    const std::string_view word = text.substr(place.begin, place.end - place.begin);
    words.push_back(is_countable(word) ? lower_case(word) : std::string());
  }
}

class WordCounts {
 public:
  void add(const std::vector<std::string>& words, int side) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i].empty()) continue;
      count(words[i], side, totals_[0]);
      if (i == 0 || words[i - 1].empty()) continue;
      phrase_ = words[i - 1];
      phrase_ += ' ';
      phrase_ += words[i];
      count(phrase_, side, totals_[1]);
    }
    while (counts_.size() > kMostCounted) {
      ++rarest_;
      std::erase_if(counts_, [this](const auto& entry) { return entry.second.all() <= rarest_; });
    }
  }

  const CountMap& counts() const { return counts_; }
  const Counts& totals(bool phrases) const { return totals_[phrases ? 1 : 0]; }

 private:
  void count(const std::string& words, int side, Counts& total) {
    Counts& counts = counts_[words];
    ++(side > 0 ? counts.positive : counts.negative);
    ++(side > 0 ? total.positive : total.negative);
  }

  CountMap counts_;
  std::array<Counts, 2> totals_;
  std::string phrase_;
  std::uint64_t rarest_ = 0;
};

struct LogOdds {
  double difference = 0.0;
  double z = 0.0;
};

LogOdds log_odds(const Counts& counts, const Counts& totals) {
  const double prior = kPriorShare * static_cast<double>(counts.all());
  const double all_prior = kPriorShare * static_cast<double>(totals.all());
  const double positive = static_cast<double>(counts.positive) + prior;
  const double negative = static_cast<double>(counts.negative) + prior;
  // A word that is all there is would leave nothing on the other side of the odds.
  const double others_positive = std::max(static_cast<double>(totals.positive) + all_prior - positive, 0.5);
  const double others_negative = std::max(static_cast<double>(totals.negative) + all_prior - negative, 0.5);
  LogOdds odds{.difference = std::log(positive / others_positive) - std::log(negative / others_negative)};
  odds.z = odds.difference / std::sqrt(1.0 / positive + 1.0 / negative);
  return odds;
}

// A phrase with _ between its words.
std::string joined(std::string words) {
  std::ranges::replace(words, ' ', '_');
  return words;
}

// Is it one that Lexicon::parse reads? "dr." is none.
bool is_entry(const std::string& words) {
  const std::string word = joined(words);
  return split_words(word) == Sentence{word} && quoted_text(word, word.size() + 1).size() == word.size() + 2;
}

std::vector<InducedWord> sure_words(const WordCounts& counts, const InduceOptions& options) {
  std::unordered_map<std::string, double> single;  // Log-odds of sure words.
  std::vector<InducedWord> words;
  for (const bool phrases : {false, true}) {
    for (const auto& [text, count] : counts.counts()) {
      const std::size_t space = text.find(' ');
      if (phrases != (space != text.npos) || count.all() < options.min_count) continue;
      const LogOdds odds = log_odds(count, counts.totals(phrases));
      if (std::abs(odds.z) < options.min_z || !is_entry(text)) continue;
      if (phrases) {
        const auto of = [&single](const std::string& word) {
          const auto found = single.find(word);
          return found == single.end() ? 0.0 : found->second;
        };
        const double expected = of(text.substr(0, space)) + of(text.substr(space + 1));
        if (std::abs(odds.difference - expected) <= kPhraseDifference) continue;
      } else {
        single.emplace(text, odds.difference);
      }
      words.push_back({text, std::tanh(odds.difference / 2.0), count.positive, count.negative});
    }
  }
  std::sort(words.begin(), words.end(), [](const InducedWord& a, const InducedWord& b) {
    return a.polarity != b.polarity ? a.polarity > b.polarity : a.words < b.words;
  });
  return words;
}

}  // namespace

InducedLexicon induce_lexicon(const std::vector<std::filesystem::path>& files, const InduceOptions& options) {
  RecordOptions record_options = options.records;
  record_options.columns = {options.label};
  std::uint64_t passes_done = 0, num_records = 0;
  const auto each = [&](const auto& use) {
    RecordReader reader(files, record_options);
    for (Record record; reader.next(record);) {
      use(record);
      if (++num_records % kRecordsBetweenReports == 0 && options.progress) {
        options.progress(passes_done * reader.bytes_total() + reader.bytes_read(), 3 * reader.bytes_total());
      }
    }
    ++passes_done;
  };

  ColumnSummary labels(options.label);
  each([&](const Record& record) { labels.add(record.cells[0]); });
  const LabelSides sides(labels, options.positive);
  InducedLexicon result;
  result.meaning = sides.meaning();

  WordCounts counts;
  std::vector<std::string> words;
  each([&](const Record& record) {
    const int side = sides.side(record.cells[0].text);
    if (side == 0 || is_validation_text(record.text, options.held_out)) return;
    ++(side > 0 ? result.positive_texts : result.negative_texts);
    words_of(record.text, words);
    counts.add(words, side);
  });
  if (result.positive_texts == 0 || result.negative_texts == 0) {
    throw Error(fmt::format("{}: one side has no text ({}); name another column or label", files.front().string(),
                            result.meaning));
  }
  result.words = sure_words(counts, options);

  const PolaritySum sum(result.words);
  std::uint64_t positive = 0;
  each([&](const Record& record) {
    const int side = sides.side(record.cells[0].text);
    if (side == 0 || !is_validation_text(record.text, options.held_out)) return;
    const double polarity = sum(record.text);
    ++result.held_out;
    positive += side > 0 ? 1 : 0;
    result.held_out_right += polarity * side > 0.0 ? 1 : 0;
    result.held_out_undecided += polarity == 0.0 ? 1 : 0;
  });
  result.held_out_majority = std::max(positive, result.held_out - positive);
  return result;
}

std::string to_tsv(const InducedLexicon& lexicon) {
  std::string text = fmt::format(
      "# Polarity of words and phrases, made by `semfuse lexicon induce` from {} positive and {} negative texts\n"
      "# ({}).\n"
      "# Of {} texts that were kept apart, the sum of their polarities has the right sign in {}, and is 0 in {}.\n"
      "# A phrase has _ between its words. The last two columns are notes: how often texts of each side have the "
      "word.\n"
      "word\tclass\tpolarity\t#positive\t#negative\n",
      lexicon.positive_texts, lexicon.negative_texts, lexicon.meaning, lexicon.held_out, lexicon.held_out_right,
      lexicon.held_out_undecided);
  for (const InducedWord& word : lexicon.words) {
    const std::string entry = joined(word.words);
    text += fmt::format("{}\t{}\t{:.3f}\t{}\t{}\n", entry, entry == word.words ? "word" : "phrase", word.polarity,
                        word.positive, word.negative);
  }
  return text;
}

PolaritySum::PolaritySum(const std::vector<InducedWord>& words) {
  for (const InducedWord& word : words) polarity_.emplace(word.words, word.polarity);
}

double PolaritySum::operator()(std::string_view text) const {
  std::vector<std::string> words;
  words_of(text, words);
  double sum = 0.0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].empty()) continue;
    if (i + 1 < words.size() && !words[i + 1].empty()) {
      if (const auto phrase = polarity_.find(words[i] + ' ' + words[i + 1]); phrase != polarity_.end()) {
        sum += phrase->second;
        ++i;
        continue;
      }
    }
    if (const auto word = polarity_.find(words[i]); word != polarity_.end()) sum += word->second;
  }
  return sum;
}

}  // namespace semfuse
