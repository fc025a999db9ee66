// The feature rows of many texts, made once each: what a word comes to by itself, after which words, and the row of
// that are remembered. Rows are those of a FeatureCursor, bit by bit, several times as fast.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/number_map.h"
#include "core/text_hash.h"
#include "features/natural_bank.h"

namespace semfuse {

// Refers to the bank. Not thread-safe: every thread has its own, and what one holds changes no row.
class RowMemory {
 public:
  // `max_types` different words are remembered: with the English bank it may take 60 MB altogether.
  explicit RowMemory(const NaturalBank& bank, std::size_t max_types = std::size_t{1} << 16);
  RowMemory(const RowMemory&) = delete;
  RowMemory& operator=(const RowMemory&) = delete;

  const NaturalBank& bank() const { return *bank_; }
  // The row of a number that a cursor gave. Valid until the next call of a cursor.
  std::span<const float> row(std::uint32_t number) const {
    return std::span(rows_).subspan(number * bank_->size(), bank_->size());
  }

  // Forgets what is more than a few MB. To be called between texts: cursors end here. Numbers mean the same
  // rows as long as generation() is the same.
  void begin_text();
  std::uint64_t generation() const { return generation_; }

 private:
  friend class RememberedCursor;
  using State = std::uint32_t;  // Atoms of a word, by their place in states_; 0: none is true.
  using States = std::array<State, NaturalBank::kMostBack + 1>;  // Of the last words, the nearest first.

  struct Phrase {
    std::vector<std::uint32_t> before;  // By phrase_words_, the nearest first.
    const Annotator::Phrase* of_lexicon = nullptr;
  };
  // All that depends on the letters of a word alone.
  struct WordType {
    std::uint32_t number = 0;  // kNoNumber: it is not remembered.
    std::string lower;
    AnnotatedWord word;  // Without its place and tag.
    TagType tag;
    std::uint32_t phrase_word = 0;        // By phrase_words_; 0: no phrase has it before its last word.
    std::vector<Phrase> of_lexicon = {};  // Phrases of several words that end in it, the longest first.
    std::vector<Phrase> of_bank = {};
  };
  struct TokenWord {
    const WordType* type;
    bool joined;
  };
  static constexpr std::uint32_t kNoNumber = std::numeric_limits<std::uint32_t>::max();

  void forget_types();
  void forget_rows();
  std::uint32_t phrase_word(const std::string& lower);
  // Valid until the next call.
  const WordType& type_of(std::string_view text);
  // The words of a token that is whole by itself; null if they are not remembered.
  const std::vector<TokenWord>* words_of(const TokenText& token);
  UniversalTag tag_next(const WordType& type, Tagger::TypeHistory& history);
  State state_of(std::span<const float> atoms);
  std::span<const float> atoms_of(State state) const {
    return std::span(states_).subspan(state * num_atoms_, num_atoms_);
  }
  // `before` are words of the sentence by phrase_words_, and of them the first `num_free` are in no phrase yet, which
  // is updated.
  State after_word(State base, const WordType& type, UniversalTag tag, bool first,
                   std::span<const std::uint32_t> before, std::size_t& num_free);
  State with_unfinished(State state, std::string_view letters);
  // The states with an empty one before them.
  void shift(States& states) const;
  std::uint32_t row_of(const States& states);

  const NaturalBank* bank_;
  const Annotator* annotator_;
  std::size_t max_types_;
  std::size_t num_atoms_;
  std::size_t longest_phrase_;
  std::vector<std::size_t> later_atoms_;  // Those that rows of later words read,
  std::vector<std::size_t> begun_atoms_;  // and those of unfinished words.
  std::vector<std::string> phrase_texts_ = {""};
  TextMap<std::uint32_t> phrase_words_;
  std::optional<Tagger::TypeHistory> start_;  // Of a sentence, if there is a tagger.
  std::uint64_t generation_ = 0;

  TextMap<WordType> types_;
  WordType other_type_;  // The last one that there was no room for.
  struct TokenWords {
    bool known = false;
    std::vector<TokenWord> words;
  };
  std::vector<TokenWords> tokens_;  // By id.
  std::vector<TagScores> after_tags_;
  NumberMap after_tag_;  // Places there, by type and tag.
  WordScanner scanner_;

  State start_state_ = 0, end_state_ = 0;  // Of <bos> and <eos>.
  std::vector<float> states_;              // [state, atoms]
  TextMap<State> state_of_;                // By the bytes of the atoms.
  std::vector<State> later_;               // Of each what rows of later words read.
  std::vector<char> begun_;                // Of each whether something is true of an unfinished word.
  NumberMap after_word_, with_unfinished_;
  struct Earlier {
    State nearest;
    std::uint32_t rest;
  };
  std::vector<Earlier> earlier_;  // What rows read of words before theirs, as lists; 0 is an empty one.
  NumberMap earlier_of_;
  std::vector<float> rows_;  // [row, features]
  TextMap<std::uint32_t> row_of_bytes_;
  NumberMap row_of_;
  std::vector<float> atoms_, row_;  // In the making.
};

// As a FeatureCursor, but for numbers of rows. Refers to the memory. Copyable: a copy goes on by itself.
class RememberedCursor {
 public:
  explicit RememberedCursor(RowMemory& memory);

  std::uint32_t row() const { return row_; }
  std::uint32_t append(const TokenText& token);
  std::uint32_t end();

 private:
  void add(const RowMemory::WordType& type, bool joined);
  void add_scanned();

  RowMemory* memory_;
  WordScanner scanner_;
  std::optional<Tagger::TypeHistory> history_;
  bool first_ = true;
  RowMemory::States states_{};
  std::vector<std::uint32_t> before_;  // The last words of the sentence by phrase_words_, the nearest first,
  std::size_t num_free_ = 0;           // of which so many are in no phrase of a lexicon.
  std::uint32_t row_ = 0;
};

}  // namespace semfuse
