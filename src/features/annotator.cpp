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
    const Annotator::Meaning& meaning = annotator_->meaning_of(text);
    AnnotatedWord word = {.place = place, .surface = Surface::of(text), .first = first_};
    word.lexicon_class = meaning.lexicon_class;
    word.attributes = annotator_->values_.data() + meaning.attributes;
    if (annotator_->tagger() != nullptr) word.tag = annotator_->tagger()->tag_next(text, history_);
    first_ = word.surface.stop;
    if (first_) history_ = {};
    words_.push_back(word);
    texts_.emplace_back(text);
  }
}

}  // namespace semfuse
