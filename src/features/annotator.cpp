#include "features/annotator.h"

#include <algorithm>
#include <utility>

#include "core/lower_case.h"

namespace semfuse {
namespace {

std::size_t place_of(std::string_view name, std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  names.emplace_back(name);
  return names.size() - 1;
}

bool is_stop(std::string_view mark) {
  for (const std::string_view stop : {".", "!", "?", "\xE2\x80\xA6", "\xE3\x80\x82", "\xEF\xBC\x81", "\xEF\xBC\x9F"}) {
    if (mark.starts_with(stop)) return true;
  }
  return false;
}

}  // namespace

Surface Surface::of(std::string_view word) {
  Surface surface;
  std::size_t num_letters = 0, num_capitals = 0;
  for (const char c : word) {
    const bool capital = c >= 'A' && c <= 'Z';
    surface.digit = surface.digit || (c >= '0' && c <= '9');
    num_capitals += capital ? 1 : 0;
    num_letters += capital || (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80 ? 1 : 0;
  }
  if (word.empty()) return surface;
  // Marks beyond ASCII are runs that the scanner sets apart; their first character tells.
  if (WordScanner::is_mark(word) && static_cast<unsigned char>(word[0]) >= 0x80) num_letters = 0;
  surface.capital = WordScanner::begins_with_capital(word);
  surface.upper = num_letters >= 2 && num_capitals == num_letters;
  surface.letter = num_letters > 0;
  surface.number = num_letters == 0 && word[0] >= '0' && word[0] <= '9';
  surface.mark = num_letters == 0 && !surface.digit;
  surface.stop = surface.mark && is_stop(word);
  return surface;
}

Annotator::Annotator(std::shared_ptr<const Tagger> tagger, std::vector<Lexicon> lexicons)
    : tagger_(std::move(tagger)),
      lexicons_(std::move(lexicons)),
      class_names_(WordClass::known()),
      attribute_names_({"polarity", "strength"}) {
  for (const Lexicon& lexicon : lexicons_) {
    for (const LexiconEntry& entry : lexicon.entries()) {
      for (const auto& [name, value] : entry.more) place_of(name, attribute_names_);
    }
  }
  values_.resize(attribute_names_.size());  // Those of a word that no lexicon has.
  for (const Lexicon& lexicon : lexicons_) {
    for (const LexiconEntry& entry : lexicon.entries()) {
      const auto [found, added] = meanings_.try_emplace(entry.word);
      Meaning& meaning = found->second;
      if (added) {
        meaning = {place_of(entry.word_class, class_names_), values_.size()};
        values_.resize(values_.size() + attribute_names_.size());
      }
      for (std::size_t i = 0; i < attribute_names_.size(); ++i) {
        float& value = values_[meaning.attributes + i];
        if (value == 0.0f) value = static_cast<float>(entry.attribute(attribute_names_[i]));
      }
    }
  }
  add_phrases();
}

std::vector<std::string> words_backwards(std::string_view phrase) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t cut = phrase.size() > 1 ? phrase.rfind('_') : phrase.npos;
    words.push_back(lower_case(phrase.substr(cut == phrase.npos ? 0 : cut + 1)));
    if (cut == phrase.npos) return words;
    phrase = phrase.substr(0, cut);
  }
}

void Annotator::add_phrases() {
  const std::size_t num_attributes = attribute_names_.size();
  for (const Lexicon& lexicon : lexicons_) {
    for (const LexiconEntry& entry : lexicon.entries()) {
      if (entry.word.find('_') == entry.word.npos) continue;
      std::vector<std::string> words = words_backwards(entry.word);
      if (std::ranges::any_of(words, &std::string::empty)) continue;
      const Meaning& own = meaning_of(words[0]);
      const Meaning& whole = meanings_.find(entry.word)->second;
      const std::vector<std::string> before(words.begin() + 1, words.end());
      std::vector<Phrase>& phrases = phrases_[words[0]];
      if (std::ranges::find(phrases, before, &Phrase::before) != phrases.end()) continue;  // Of an earlier lexicon.
      const bool has_class = class_names_[whole.lexicon_class] != kPhraseClass;
      phrases.push_back({before, {has_class ? whole.lexicon_class : own.lexicon_class, values_.size()}});
      longest_phrase_ = std::max(longest_phrase_, words.size());
      for (std::size_t i = 0; i < num_attributes; ++i) {
        const float value = values_[whole.attributes + i];
        values_.push_back(value != 0.0f ? value : values_[own.attributes + i]);
      }
    }
  }
  for (auto& [last, phrases] : phrases_) {
    std::ranges::stable_sort(phrases, std::ranges::greater(),
                             [](const Phrase& phrase) { return phrase.before.size(); });
  }
}

const Annotator::Phrase* Annotator::phrase_of(std::string_view lower, std::span<const std::string> before) const {
  const auto found = phrases_.find(lower);
  if (found == phrases_.end()) return nullptr;
  for (const Phrase& phrase : found->second) {
    if (phrase.before.size() <= before.size() && std::equal(phrase.before.begin(), phrase.before.end(), before.begin()))
      return &phrase;
  }
  return nullptr;
}

const Annotator::Meaning& Annotator::meaning_of(std::string_view word) const {
  if (meanings_.empty()) return unknown_;
  if (const auto found = meanings_.find(word); found != meanings_.end()) return found->second;
  const bool has_capital = std::any_of(word.begin(), word.end(), [](char c) { return lower_case(c) != c; });
  if (!has_capital) return unknown_;
  const auto found = meanings_.find(lower_case(word));
  return found == meanings_.end() ? unknown_ : found->second;
}

std::vector<AnnotatedWord> Annotator::annotate(std::string_view text) const {
  AnnotationCursor cursor(*this);
  cursor.append(text, true);
  return cursor.words();
}

void AnnotationCursor::append(std::string_view bytes, bool ends_word) {
  words_.clear();
  texts_.clear();
  scanner_.append(bytes);
  take_words();
  if (!ends_word) return;
  scanner_.end_word();
  take_words();
}

void AnnotationCursor::take_words() {
  for (const ScannedWord& place : scanner_.words()) {
    const std::string_view text = scanner_.text(place);
    const Annotator::Meaning* meaning = &annotator_->meaning_of(text);
    AnnotatedWord word = {.place = place, .surface = Surface::of(text), .first = first_};
    if (annotator_->longest_phrase_ > 1) {
      if (first_) before_.clear();
      std::string lower = lower_case(text);
      if (const Annotator::Phrase* phrase = annotator_->phrase_of(lower, before_)) {
        meaning = &phrase->meaning;
        before_.clear();
      } else {
        if (before_.size() + 1 >= annotator_->longest_phrase_) before_.pop_back();
        before_.insert(before_.begin(), std::move(lower));
      }
    }
    word.lexicon_class = meaning->lexicon_class;
    word.attributes = annotator_->values_.data() + meaning->attributes;
    if (annotator_->tagger() != nullptr) word.tag = annotator_->tagger()->tag_next(text, history_);
    first_ = word.surface.stop;
    if (first_) history_ = {};
    words_.push_back(word);
    texts_.emplace_back(text);
  }
}

}  // namespace semfuse
