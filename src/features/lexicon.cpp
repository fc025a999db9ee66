#include <fmt/format.h>

#include <array>
#include <utility>

#include "semfuse/error.h"
#include "semfuse/feature_bank.h"

namespace semfuse {
namespace {

constexpr std::array<std::pair<WordClass, std::string_view>, 8> kWordClassNames = {{
    {WordClass::subject, "subject"},
    {WordClass::pronoun, "pronoun"},
    {WordClass::verb, "verb"},
    {WordClass::object, "object"},
    {WordClass::intensifier, "intensifier"},
    {WordClass::adjective, "adjective"},
    {WordClass::punctuation, "punctuation"},
    {WordClass::other, "other"},
}};

// The comparisons are negated, so that NaN is caught too.
void check(const LexiconEntry& entry) {
  if (entry.word.empty()) throw Error("lexicon: an entry has no word; give it one or remove it");
  if (!(entry.polarity >= -1.0 && entry.polarity <= 1.0)) {
    throw Error(
        fmt::format("lexicon: the polarity of \"{}\" is {}; choose one in [-1, 1]", entry.word, entry.polarity));
  }
  if (!(entry.strength >= 0.0 && entry.strength <= 1.0)) {
    throw Error(fmt::format("lexicon: the strength of \"{}\" is {}; choose one in [0, 1]", entry.word, entry.strength));
  }
  for (const auto& [name, value] : entry.more) {
    if (!(value >= -1.0 && value <= 1.0)) {
      throw Error(fmt::format("lexicon: the {} of \"{}\" is {}; choose one in [-1, 1]", name, entry.word, value));
    }
  }
  if (entry.polarity != 0.0 && entry.word_class != WordClass::adjective) {
    throw Error(fmt::format("lexicon: \"{}\" has a polarity but is of class {}; only an adjective has one", entry.word,
                            to_string(entry.word_class)));
  }
  if (entry.strength != 0.0 && entry.word_class != WordClass::intensifier) {
    throw Error(fmt::format("lexicon: \"{}\" has a strength but is of class {}; only an intensifier has one",
                            entry.word, to_string(entry.word_class)));
  }
}

}  // namespace

std::string_view to_string(WordClass word_class) {
  for (const auto& [value, name] : kWordClassNames) {
    if (value == word_class) return name;
  }
  return "other";
}

std::optional<WordClass> word_class_from_string(std::string_view name) {
  for (const auto& [value, known_name] : kWordClassNames) {
    if (known_name == name) return value;
  }
  return std::nullopt;
}

double LexiconEntry::attribute(std::string_view name) const {
  if (name == "polarity") return polarity;
  if (name == "strength") return strength;
  const auto found = more.find(std::string(name));
  return found == more.end() ? 0.0 : found->second;
}

Lexicon::Lexicon(std::vector<LexiconEntry> entries) : entries_(std::move(entries)) {
  index_.reserve(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    check(entries_[i]);
    const auto [first, added] = index_.emplace(entries_[i].word, i);
    if (!added) {
      throw Error(fmt::format("lexicon: entry {} \"{}\" appears twice (first as entry {}); remove one", i + 1,
                              entries_[i].word, first->second + 1));
    }
  }
}

const LexiconEntry* Lexicon::find(std::string_view word) const {
  const auto found = index_.find(std::string(word));
  return found == index_.end() ? nullptr : &entries_[found->second];
}

std::vector<std::string> Lexicon::words(WordClass word_class, int polarity_sign) const {
  std::vector<std::string> words;
  for (const LexiconEntry& entry : entries_) {
    const bool sign_fits = polarity_sign == 0 || entry.polarity * polarity_sign > 0.0;
    if (entry.word_class == word_class && sign_fits) words.push_back(entry.word);
  }
  return words;
}

}  // namespace semfuse
