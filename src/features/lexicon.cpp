#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/attribute_name.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"
#include "semfuse/lexicon.h"

namespace semfuse {
namespace {

// The comparisons are negated, so that NaN is caught too.
void check(const LexiconEntry& entry) {
  if (entry.word.empty()) throw Error("lexicon: an entry has no word; give it one or remove it");
  if (!is_attribute_name(entry.word_class)) {
    throw Error(fmt::format("lexicon: the class of \"{}\" is {}; name it with a-z, 0-9 and _, at most 32", entry.word,
                            quoted_text(entry.word_class)));
  }
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
  if (!WordClass::is_known(entry.word_class)) return;
  if (entry.polarity != 0.0 && entry.word_class != WordClass::kAdjective) {
    throw Error(fmt::format("lexicon: \"{}\" has a polarity but is of class {}; only an adjective has one", entry.word,
                            entry.word_class));
  }
  if (entry.strength != 0.0 && entry.word_class != WordClass::kIntensifier) {
    throw Error(fmt::format("lexicon: \"{}\" has a strength but is of class {}; only an intensifier has one",
                            entry.word, entry.word_class));
  }
}

}  // namespace

const std::vector<std::string>& WordClass::known() {
  static const std::vector<std::string> names = {kSubject,     kPronoun,   kVerb,        kObject,
                                                 kIntensifier, kAdjective, kPunctuation, kOther};
  return names;
}

bool WordClass::is_known(std::string_view name) {
  return std::find(known().begin(), known().end(), name) != known().end();
}

double LexiconEntry::attribute(std::string_view name) const {
  if (name == "polarity") return polarity;
  if (name == "strength") return strength;
  const auto found = more.find(std::string(name));
  return found == more.end() ? 0.0 : found->second;
}

Lexicon::Lexicon(std::vector<LexiconEntry> entries) : entries_(std::move(entries)), class_names_(WordClass::known()) {
  index_.reserve(entries_.size());
  classes_.reserve(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    check(entries_[i]);
    const auto [first, added] = index_.emplace(entries_[i].word, i);
    if (!added) {
      throw Error(fmt::format("lexicon: entry {} \"{}\" appears twice (first as entry {}); remove one", i + 1,
                              entries_[i].word, first->second + 1));
    }
    const auto name = std::find(class_names_.begin(), class_names_.end(), entries_[i].word_class);
    classes_.push_back(static_cast<std::size_t>(name - class_names_.begin()));
    if (name == class_names_.end()) class_names_.push_back(entries_[i].word_class);
  }
}

const LexiconEntry* Lexicon::find(std::string_view word) const {
  const auto found = index_.find(std::string(word));
  return found == index_.end() ? nullptr : &entries_[found->second];
}

std::size_t Lexicon::class_of(std::string_view word) const {
  const auto found = index_.find(std::string(word));
  return found == index_.end() ? kOtherClass : classes_[found->second];
}

std::vector<std::string> Lexicon::words(std::string_view word_class, int polarity_sign) const {
  std::vector<std::string> words;
  for (const LexiconEntry& entry : entries_) {
    const bool sign_fits = polarity_sign == 0 || entry.polarity * polarity_sign > 0.0;
    if (entry.word_class == word_class && sign_fits) words.push_back(entry.word);
  }
  return words;
}

}  // namespace semfuse
