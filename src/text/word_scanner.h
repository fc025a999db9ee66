// Finds the words of natural text while it arrives, in pieces of any size: "don't" has two ("do", "n't"), "3.5" and
// "Mr." have one, a mark or a run of the same mark is one. What it has found never changes by what follows, and what it
// keeps of the text is the word that may still go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace semfuse {

// Bytes [begin, end) of the text.
struct ScannedWord {
  std::size_t begin = 0;
  std::size_t end = 0;
  // Written as one with the word before it, of which it is a part: the "n't" of "don't". Other neighbours without a
  // space between them ("well", "-") are words of their own.
  bool joined = false;
  bool operator==(const ScannedWord&) const = default;
};

// Any bytes are text; those that are not UTF-8 count as letters. A word is at most kMostBytes long (and a character):
// where writing has no spaces, or a file no sense, it is cut there. Copyable: a copy goes on by itself.
class WordScanner {
 public:
  static constexpr std::size_t kMostBytes = 256;

  // Reads on. The words that are complete now are in words() until the next call; what may still go on is unfinished().
  void append(std::string_view bytes);
  // Nothing more belongs to the unfinished word: the text, or a token that is whole by itself, ends here.
  void end_word();

  const std::vector<ScannedWord>& words() const { return words_; }
  // Of one of words().
  std::string_view text(const ScannedWord& word) const {
    return std::string_view(kept_).substr(word.begin - kept_begin_, word.end - word.begin);
  }
  std::string_view unfinished() const {
    return std::string_view(kept_).substr((state_ == State::none ? next_ : run_begin_) - kept_begin_);
  }
  static bool is_mark(std::string_view word);                      // Does it begin with a mark?
  static bool begins_with_capital(std::string_view word);          // A-Z, or one of the Latin letters with accents.
  std::size_t size() const { return kept_begin_ + kept_.size(); }  // Bytes read so far.

 private:
  enum class Kind : std::uint8_t { space, letter, capital, digit, apostrophe, mark };
  enum class State : std::uint8_t { none, run, undecided, marks };

  static Kind kind_of(std::string_view character);
  void forget();
  void scan(bool at_end);
  void read(std::string_view character);
  bool joins(Kind next) const;
  bool keeps_dot() const;
  void complete();
  void complete_run(std::size_t end);

  std::string kept_;            // The bytes from kept_begin_ on.
  std::size_t kept_begin_ = 0;  // Places are counted from the beginning of the text.
  std::size_t run_begin_ = 0;   // Where the unfinished word begins.
  std::size_t next_ = 0;        // The first byte not read yet: the beginning of a character whose rest is to come.
  State state_ = State::none;
  Kind last_ = Kind::space;    // The kind of the last character of the run; of an undecided one that before it.
  std::size_t part_ = 0;       // Characters of the run since the last dot in it.
  std::size_t undecided_ = 0;  // Where a mark stands that belongs to the run if it goes on: the dot of "3.5".
  std::vector<ScannedWord> words_;
};

// The same of a whole text.
std::vector<ScannedWord> scan_words(std::string_view text);

}  // namespace semfuse
