// Says of each word of natural text what it is: its bytes, its part of speech by a tagger, its class and attributes by
// lexicons, what its letters look like. Nothing said of a word depends on what follows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text_hash.h"
#include "features/tagger.h"
#include "semfuse/feature_bank.h"
#include "text/word_scanner.h"

namespace semfuse {

// What the letters of a word show; of an unfinished word, so far.
struct Surface {
  bool capital = false;  // Begins with a capital letter,
  bool upper = false;    // has two letters or more, all of them capitals,
  bool digit = false;    // holds a digit,
  bool number = false;   // begins with a digit and holds no letter: 3.5, 10:30,
  bool letter = false;   // holds a letter,
  bool mark = false;     // holds no letter and no digit,
  bool stop = false;     // ends a sentence: . ! ? ... and their runs.

  static Surface of(std::string_view word);
};

struct AnnotatedWord {
  ScannedWord place;  // Its bytes in the text.
  Surface surface;
  bool first = false;  // Of its sentence.
  UniversalTag tag = TagFeatureList::kNoTag;
  std::size_t lexicon_class = Lexicon::kOtherClass;  // Of Annotator::class_names().
  const float* attributes = nullptr;  // One for each of Annotator::attribute_names(); never null, the annotator's.
};

// Immutable, so safe to share between threads.
class Annotator {
 public:
  // Without a tagger words have no tag. A word is looked up as it is written, then in lower case. Where lexicons differ
  // the first one with the word decides on its class, and the first one with an attribute other than 0 on that.
  // An entry such as not_good is a phrase too: the last of its words, after the others in the same sentence, has its
  // class (unless that is kPhraseClass, which says nothing) and its attributes, those that are 0 apart. The words
  // before the last one keep what they have, as nothing looks ahead. No word is part of two phrases; of phrases that
  // end in the same word the longest counts.
  explicit Annotator(std::shared_ptr<const Tagger> tagger, std::vector<Lexicon> lexicons = {});

  const Tagger* tagger() const { return tagger_.get(); }
  const std::shared_ptr<const Tagger>& shared_tagger() const { return tagger_; }
  const std::vector<Lexicon>& lexicons() const { return lexicons_; }
  const std::vector<std::string>& class_names() const { return class_names_; }
  // polarity and strength, then those of the lexicons' own.
  const std::vector<std::string>& attribute_names() const { return attribute_names_; }
  static constexpr const char* kPhraseClass = "phrase";

  // The words of a whole text.
  std::vector<AnnotatedWord> annotate(std::string_view text) const;

 private:
  friend class AnnotationCursor;
  friend class RowMemory;
  struct Meaning {
    std::size_t lexicon_class = Lexicon::kOtherClass;
    std::size_t attributes = 0;  // Where they begin in values_.
  };
  struct Phrase {
    std::vector<std::string> before;  // The words before the last one in lower case, the nearest first.
    Meaning meaning;
  };
  void add_phrases();
  const Meaning& meaning_of(std::string_view word) const;
  // The phrase that ends in the lower-case word after those before it, the nearest first; null if there is none.
  const Phrase* phrase_of(std::string_view lower, std::span<const std::string> before) const;

  std::shared_ptr<const Tagger> tagger_;
  std::vector<Lexicon> lexicons_;
  std::vector<std::string> class_names_;
  std::vector<std::string> attribute_names_;
  std::vector<float> values_;
  Meaning unknown_;
  TextMap<Meaning> meanings_;
  TextMap<std::vector<Phrase>> phrases_;  // By their last word, the longest first.
  std::size_t longest_phrase_ = 1;
};

// Of "no_longer" longer, no; in lower case.
std::vector<std::string> words_backwards(std::string_view phrase);

// Annotates a text that arrives in pieces; what a piece costs does not depend on what came before. Refers to the
// annotator. Copyable: a copy goes on by itself.
class AnnotationCursor {
 public:
  explicit AnnotationCursor(const Annotator& annotator) : annotator_(&annotator) {}

  // Reads on. With `ends_word` nothing that follows belongs to the last word: so it is with the token of a word
  // tokenizer, and at the end of a text.
  void append(std::string_view bytes, bool ends_word = false);

  // Those that the last piece completed, and the letters of each.
  const std::vector<AnnotatedWord>& words() const { return words_; }
  const std::vector<std::string>& texts() const { return texts_; }
  // The letters of the word that may still go on; empty if there is none.
  std::string_view unfinished() const { return scanner_.unfinished(); }

 private:
  void take_words();

  const Annotator* annotator_;
  WordScanner scanner_;
  Tagger::History history_;
  bool first_ = true;
  // If there are phrases: the last words of the sentence in lower case, the nearest first, that are in none yet.
  std::vector<std::string> before_;
  std::vector<AnnotatedWord> words_;
  std::vector<std::string> texts_;
};

}  // namespace semfuse
