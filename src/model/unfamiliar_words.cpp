#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "features/feature_bank_access.h"
#include "features/word_vectors.h"
#include "semfuse/language_model.h"

namespace semfuse {
namespace {

// What training showed of a class.
struct ShownClass {
  std::set<double> polarities;
  std::set<double> strengths;
};

std::map<std::string, ShownClass> shown_classes(const LanguageModel& model) {
  std::map<std::string, ShownClass> shown;
  for (std::size_t id = static_cast<std::size_t>(Vocabulary::kEos) + 1; id < model.vocabulary().size(); ++id) {
    std::string_view word = model.vocabulary().entries()[id];
    if (model.tokenizer() != nullptr && word.starts_with(' ')) word.remove_prefix(1);
    const LexiconEntry* entry = model.feature_bank().lexicon().find(word);
    if (!model.seen()[id] || entry == nullptr) continue;
    shown[entry->word_class].polarities.insert(entry->polarity);
    shown[entry->word_class].strengths.insert(entry->strength);
  }
  return shown;
}

// Of each word, whether any feature says what it is.
std::vector<bool> have_features(const FeatureBank& bank, const std::vector<LexiconEntry>& words) {
  std::vector<std::string> entries = {"<pad>", "<bos>", "<eos>"};
  const std::size_t num_special = entries.size();
  std::vector<LexiconEntry> lexicon = bank.lexicon().entries();  // A declaration may name classes of it.
  for (const LexiconEntry& word : words) {
    entries.push_back(word.word);
    if (bank.lexicon().find(word.word) == nullptr) lexicon.push_back(word);
  }
  const FeatureMatrix rows = FeatureBankAccess::ungraded(bank)
                                 .with_lexicon(Lexicon(std::move(lexicon)))
                                 .word_rows(Vocabulary(std::move(entries)));
  std::vector<bool> result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto first = rows.values.begin() + static_cast<std::ptrdiff_t>((i + num_special) * rows.num_features);
    result.push_back(std::any_of(first, first + static_cast<std::ptrdiff_t>(rows.num_features),
                                 [](float value) { return value > 0.0f; }));
  }
  return result;
}

std::string doubt_about(const LexiconEntry& word, const std::map<std::string, ShownClass>& classes, bool has_features,
                        bool grades) {
  const auto shown = classes.find(word.word_class);
  if (!WordClass::is_known(word.word_class)) {
    return fmt::format("\"{}\": features do not know the class {}, so to the model it is like a word of class other",
                       word.word, word.word_class);
  }
  if (shown == classes.end()) {
    return fmt::format("\"{}\" is of class {}, and training showed no word of that class", word.word, word.word_class);
  }
  if (!has_features) {
    return fmt::format("\"{}\" ({}) has no feature, so the model cannot tell it from other words without features",
                       word.word, word.word_class);
  }
  const auto& [polarities, strengths] = shown->second;
  const double lowest = grades ? std::min(0.0, *polarities.begin()) : *polarities.begin();
  const double highest = grades ? std::max(0.0, *polarities.rbegin()) : *polarities.rbegin();
  if (word.polarity < lowest || word.polarity > highest) {
    return fmt::format("\"{}\" has polarity {}, and training showed {} to {}", word.word, word.polarity, lowest,
                       highest);
  }
  if (!grades && !polarities.contains(word.polarity)) {
    return fmt::format(
        "\"{}\" has polarity {}, and training showed {} and nothing between; train with "
        "training.polarity_jitter above 0",
        word.word, word.polarity, fmt::join(polarities, ", "));
  }
  if (word.strength < *strengths.begin() || word.strength > *strengths.rbegin()) {
    return fmt::format("\"{}\" has strength {}, and training showed {} to {}", word.word, word.strength,
                       *strengths.begin(), *strengths.rbegin());
  }
  return {};
}

}  // namespace

namespace {

// What the vectors know of a word; empty if that is enough.
std::string doubt_about_vector(const WordVectors& vectors, const LexiconEntry& word) {
  if (!word.like.empty() || vectors.knows(word.word)) return {};
  return fmt::format("\"{}\": the word vectors know no part of its spelling; say what it is like in a column `like`",
                     word.word);
}

}  // namespace

std::vector<std::string> unfamiliar_words(const LanguageModel& model, const std::vector<LexiconEntry>& words,
                                          bool grades) {
  const std::map<std::string, ShownClass> classes = shown_classes(model);
  const std::vector<bool> have = have_features(model.feature_bank(), words);
  std::vector<std::string> doubts;
  const WordVectors* vectors = FeatureBankAccess::vectors(model.feature_bank()).get();
  // Without readable features nothing reads the lexicon.
  const bool reads_lexicon = model.feature_bank().size() > 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string doubt = vectors != nullptr ? doubt_about_vector(*vectors, words[i]) : std::string();
    if (doubt.empty() && reads_lexicon) doubt = doubt_about(words[i], classes, have[i], grades);
    if (!doubt.empty()) doubts.push_back(std::move(doubt));
  }
  return doubts;
}

}  // namespace semfuse
