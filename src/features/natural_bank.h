// The features of natural text: each is declared in a line of text that people edit, and computed from what an
// Annotator says of words. No row depends on what follows its token.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text_hash.h"
#include "features/annotator.h"
#include "features/bank_declaration.h"
#include "semfuse/feature_bank.h"

namespace semfuse {

// The bytes that a token stands for, spaces included.
struct TokenText {
  std::string_view bytes;
  // Nothing that follows belongs to the token's last word. True of the words of a word tokenizer; of pieces of words
  // and of bytes it is known only later.
  bool ends_word = false;
  TokenId id = kNoId;  // Which token it is, if it always comes with the same of the above.
  static constexpr TokenId kNoId = -1;
};

// The polarity and strength of English words, which the library carries (lexicons/english.tsv).
const Lexicon& english_lexicon();

// Immutable, so safe to share between threads.
class NaturalBank {
 public:
  static constexpr std::size_t kMostBack = 8;  // Words that a declaration's `after` reaches.

  // Memberships of graded features are those of the options. Throws Error, with the declaration's line, for a tag
  // without a tagger, and for an attribute or class that no lexicon has.
  NaturalBank(BankDeclaration declaration, std::shared_ptr<const Tagger> tagger, std::vector<Lexicon> lexicons,
              const FeatureOptions& options = {.kernel = MembershipKernel::gaussian});

  // The bank, tagger and lexicon that the library carries for English.
  static NaturalBank english();

  const std::vector<std::string>& names() const { return names_; }
  std::size_t size() const { return names_.size(); }
  const Annotator& annotator() const { return annotator_; }
  const BankDeclaration& declaration() const { return declaration_; }
  const FeatureOptions& options() const { return options_; }

  // Rows for <bos>, the tokens, <eos>.
  FeatureMatrix rows(std::span<const TokenText> tokens) const;
  // What the features say of each text by itself, at no place in a sentence: lex(w), a row each; of several words the
  // last one's. Zeros where a text holds no word.
  FeatureMatrix word_rows(std::span<const std::string> texts) const;

 private:
  friend class FeatureCursor;
  friend class RowMemory;

  // A term of features as a number that is known of every word. Equal terms are one atom.
  struct Degree {
    std::size_t atom;
    std::size_t attribute;
    BankTerm term;
  };
  struct Ending {
    std::size_t atom;
    std::string letters;
  };
  struct Phrase {
    std::size_t atom;
    std::vector<std::string> before;  // The words before the last one, the nearest first; none for a single word.
  };
  struct Literal {
    std::size_t atom;
    std::size_t back;
    bool negated;
  };
  using Alternatives = std::vector<std::vector<Literal>>;

  std::size_t add_atom(const BankTerm& term);
  // Raises the atoms to what is true of a word; the lower-case words before it are those of the sentence, nearest
  // first.
  void read(const AnnotatedWord& word, std::string_view lower, std::span<const std::string> before,
            std::span<float> atoms) const;
  void read_unfinished(std::string_view letters, std::span<float> atoms) const;
  // Sets those of <bos> and <eos> in atoms that are 0.
  void read_start(std::span<float> atoms) const;
  void read_end(std::span<float> atoms) const;
  // The atoms of the word and of those before it, the nearest first, most_back_ of them.
  using AtomsOfWords = std::array<const float*, kMostBack + 1>;
  void evaluate(const AtomsOfWords& of, std::span<float> row) const;

  BankDeclaration declaration_;
  Annotator annotator_;
  FeatureOptions options_;
  std::vector<std::string> names_;
  std::vector<Alternatives> features_;
  std::vector<BankTerm> terms_;  // Of the atoms.
  std::size_t most_back_ = 0;
  std::size_t longest_phrase_ = 1;
  std::array<std::vector<std::size_t>, kUniversalTags.size()> of_tag_;
  std::vector<std::vector<std::size_t>> of_class_;
  std::vector<std::vector<std::size_t>> of_surface_, of_begun_;  // By the place in surface_names().
  std::vector<Ending> endings_;
  std::vector<Degree> degrees_;
  TextMap<std::vector<Phrase>> phrases_;  // By their last word.
};

// The rows of a text that arrives token by token; what a token costs does not depend on how many came before. Refers to
// the bank. Copyable: a copy goes on by itself.
class FeatureCursor {
 public:
  explicit FeatureCursor(const NaturalBank& bank);

  // The row of what came last, which as constructed is <bos>. It describes the last complete word, and what the
  // unfinished one shows so far. Words that are written as one ("don't") are one word here, of which is true what is
  // true of a part. Valid until the next call.
  std::span<const float> row() const { return row_; }
  // The row after one more token.
  std::span<const float> append(const TokenText& token);
  // The row of <eos>, the end of the text.
  std::span<const float> end();

 private:
  std::span<float> atoms(std::size_t back);
  void next_word();
  void evaluate();

  const NaturalBank* bank_;
  AnnotationCursor annotation_;
  std::vector<float> atoms_;  // Those of the last words, in turns.
  std::size_t turn_ = 0;
  std::vector<std::string> before_;  // The last words of the sentence in lower case, the nearest first.
  std::vector<float> row_;
};

}  // namespace semfuse
