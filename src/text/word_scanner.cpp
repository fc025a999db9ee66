#include "text/word_scanner.h"

#include <algorithm>
#include <array>

#include "core/lower_case.h"
#include "io/quoted_text.h"

namespace semfuse {
namespace {

bool between(char32_t c, char32_t low, char32_t high) {
  return c >= low && c <= high;
}

// Bytes that the character at the start of `text` has by its first byte, if those present may be the beginning of it.
std::size_t promised_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first >= 0xF0 && first <= 0xF4   ? 4
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xC2 && first <= 0xDF ? 2
                                                              : 1;
  for (std::size_t i = 1; i < std::min(length, text.size()); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) return 1;
  }
  return length;
}

constexpr std::string_view kCurly = "\xE2\x80\x99";  // The apostrophe that word processors write.

// Of lower-case text: the length of an apostrophe at `at`, or 0.
std::size_t apostrophe_length(std::string_view text, std::size_t at) {
  if (text.substr(at, 1) == "'") return 1;
  return text.substr(at, kCurly.size()) == kCurly ? kCurly.size() : 0;
}

// What may follow an apostrophe in a word that is written as one with the word before it.
bool is_clitic(std::string_view letters) {
  static constexpr std::array<std::string_view, 6> kClitics = {"s", "m", "re", "ve", "ll", "d"};
  return std::find(kClitics.begin(), kClitics.end(), letters) != kClitics.end();
}

// Where the last part of a lower-case word begins, if it is written as one with a word before it; 0 if it is not.
std::size_t clitic_begin(std::string_view word) {
  constexpr std::size_t kLongest = 5;  // A curly apostrophe and two letters, or "n’t".
  for (std::size_t at = word.size() < kLongest ? 1 : word.size() - kLongest; at < word.size(); ++at) {
    const std::size_t length = apostrophe_length(word, at);
    if (length == 0) continue;
    if (word.substr(at + length) == "t" && word[at - 1] == 'n') return at - 1;
    if (is_clitic(word.substr(at + length))) return at;
  }
  return word == "cannot" ? 3 : 0;
}

// Words that keep their dot.
bool is_abbreviation(std::string_view word) {
  static constexpr std::array<std::string_view, 19> kAbbreviations = {
      "mr",   "mrs", "ms",   "dr",  "st",  "jr",  "sr",  "prof", "vs",    "etc",
      "dept", "inc", "corp", "ltd", "gen", "sen", "rep", "gov",  "approx"};
  return std::find(kAbbreviations.begin(), kAbbreviations.end(), word) != kAbbreviations.end();
}

}  // namespace

WordScanner::Kind WordScanner::kind_of(std::string_view character) {
  if (character.size() == 1) {
    const auto c = static_cast<unsigned char>(character[0]);
    if (c == ' ' || (c >= '\t' && c <= '\r') || c == 0) return Kind::space;
    if (c >= 'A' && c <= 'Z') return Kind::capital;
    if ((c >= 'a' && c <= 'z') || c == '_' || c == '@' || c >= 0x80) return Kind::letter;
    if (c >= '0' && c <= '9') return Kind::digit;
    return c == '\'' ? Kind::apostrophe : Kind::mark;
  }
  const char32_t c = code_point(character);
  if (c == 0x2019) return Kind::apostrophe;
  if (c == 0x85 || c == 0xA0 || between(c, 0x2000, 0x200B) || between(c, 0x2028, 0x202F) || c == 0x205F ||
      c == 0x3000 || c == 0xFEFF) {
    return Kind::space;
  }
  if (between(c, 0xA1, 0xA9) || between(c, 0xAB, 0xB1) || c == 0xB4 || c == 0xB6 || c == 0xB7 || c == 0xBB ||
      c == 0xBF || c == 0xD7 || c == 0xF7 || between(c, 0x2010, 0x2027) || between(c, 0x2030, 0x205E) ||
      between(c, 0x20A0, 0x20CF) || between(c, 0x2190, 0x2BFF) || between(c, 0x3001, 0x3003) ||
      between(c, 0x3008, 0x3011) || between(c, 0xFF01, 0xFF0F) || between(c, 0xFF1A, 0xFF20) ||
      between(c, 0x1F000, 0x1FAFF)) {
    return Kind::mark;
  }
  return between(c, 0xC0, 0xDE) ? Kind::capital : Kind::letter;
}

bool WordScanner::is_mark(std::string_view word) {
  const Kind kind = kind_of(word.substr(0, std::max<std::size_t>(1, utf8_character_length(word))));
  return kind == Kind::mark || kind == Kind::apostrophe;
}

bool WordScanner::begins_with_capital(std::string_view word) {
  return kind_of(word.substr(0, std::max<std::size_t>(1, utf8_character_length(word)))) == Kind::capital;
}

// Keeps the unfinished word alone.
void WordScanner::forget() {
  words_.clear();
  if (state_ == State::none) run_begin_ = next_;
  kept_.erase(0, run_begin_ - kept_begin_);
  kept_begin_ = run_begin_;
}

void WordScanner::append(std::string_view bytes) {
  forget();
  kept_ += bytes;
  scan(false);
}

void WordScanner::end_word() {
  forget();
  scan(true);
  complete();
}

void WordScanner::scan(bool at_end) {
  while (next_ < size()) {
    const std::string_view rest = std::string_view(kept_).substr(next_ - kept_begin_);
    std::size_t length = 1;
    if (static_cast<unsigned char>(rest[0]) >= 0x80) {
      if (!at_end && rest.size() < promised_length(rest)) return;
      length = std::max<std::size_t>(1, utf8_character_length(rest));
    }
    read(rest.substr(0, length));
    next_ += length;
  }
}

void WordScanner::read(std::string_view character) {
  const Kind kind = kind_of(character);
  const bool in_word = kind == Kind::letter || kind == Kind::capital || kind == Kind::digit;
  if (state_ == State::undecided) {
    if (in_word && joins(kind)) {
      state_ = State::run;
      part_ = 0;
    } else {
      // The mark stands for itself, and may be the first of several.
      if (undecided_ > run_begin_) complete_run(undecided_);
      run_begin_ = undecided_;
      state_ = State::marks;
    }
  }
  const bool too_long = next_ - run_begin_ >= kMostBytes;
  if (state_ == State::run && !too_long) {
    if (in_word) {
      last_ = kind;
      ++part_;
      return;
    }
    if (kind == Kind::apostrophe || character == "." ||
        (last_ == Kind::digit && (character == "," || character == ":"))) {
      if (character == "." && keeps_dot()) {
        complete_run(next_ + 1);
      } else {
        undecided_ = next_;
        state_ = State::undecided;
      }
      return;
    }
  }
  if (state_ == State::marks && !too_long && unfinished().starts_with(character)) return;
  complete();
  run_begin_ = next_;
  if (kind == Kind::space) return;
  state_ = in_word ? State::run : kind == Kind::apostrophe ? State::undecided : State::marks;
  last_ = kind;
  part_ = 1;
  undecided_ = next_;
}

// Does the undecided mark belong to the run, now that a character of the kind `next` follows it?
bool WordScanner::joins(Kind next) const {
  switch (kept_[undecided_ - kept_begin_]) {
    case '.':  // "3.5", "example.com", "U.S", but not "end.The"
      return next == Kind::digit ? last_ == Kind::digit : next == Kind::letter || part_ == 1;
    case ',':
    case ':':
      return next == Kind::digit;
    default:
      return true;  // An apostrophe.
  }
}

// Is the dot that comes next a part of the run: that of "Mr." and the last one of "U.S."?
bool WordScanner::keeps_dot() const {
  const std::string word = lower_case(std::string_view(kept_).substr(run_begin_ - kept_begin_, next_ - run_begin_));
  return is_abbreviation(word) || (part_ == 1 && last_ != Kind::digit && word.find('.') != word.npos);
}

void WordScanner::complete() {
  if (state_ == State::undecided) {
    if (undecided_ > run_begin_) complete_run(undecided_);
    words_.push_back({undecided_, next_, false});
  } else if (state_ == State::run) {
    complete_run(next_);
  } else if (state_ == State::marks) {
    words_.push_back({run_begin_, next_, false});
  }
  state_ = State::none;
}

// Splits the run into its words.
void WordScanner::complete_run(std::size_t end) {
  constexpr int kMostClitics = 2;  // "wouldn't've"
  state_ = State::none;
  const std::string word = lower_case(std::string_view(kept_).substr(run_begin_ - kept_begin_, end - run_begin_));
  std::size_t begin = 0;
  const std::size_t apostrophe = apostrophe_length(word, 0);
  if (apostrophe > 0 && !is_clitic(std::string_view(word).substr(apostrophe))) {
    words_.push_back({run_begin_, run_begin_ + apostrophe, false});
    begin = apostrophe;
  }
  std::array<std::size_t, kMostClitics + 2> cuts{};
  std::size_t num_cuts = 0;
  cuts[num_cuts++] = word.size();
  for (int i = 0; i < kMostClitics; ++i) {
    const std::size_t cut = clitic_begin(std::string_view(word).substr(begin, cuts[num_cuts - 1] - begin));
    if (cut == 0) break;
    cuts[num_cuts++] = begin + cut;
  }
  cuts[num_cuts++] = begin;
  for (std::size_t i = num_cuts - 1; i > 0; --i) {
    words_.push_back({run_begin_ + cuts[i], run_begin_ + cuts[i - 1], i + 1 < num_cuts});
  }
}

std::vector<ScannedWord> scan_words(std::string_view text) {
  WordScanner scanner;
  scanner.append(text);
  std::vector<ScannedWord> words = scanner.words();
  scanner.end_word();
  words.insert(words.end(), scanner.words().begin(), scanner.words().end());
  return words;
}

}  // namespace semfuse
