// What words mean: each has a class, and attributes such as its polarity.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace semfuse {

// The classes of words that feature banks know, by name. A lexicon may have others of its own: grammars can name them,
// and features see their words as they see those of `other`, but for polarity and strength.
struct WordClass {
  static constexpr char kSubject[] = "subject";
  static constexpr char kPronoun[] = "pronoun";
  static constexpr char kVerb[] = "verb";
  static constexpr char kObject[] = "object";
  static constexpr char kIntensifier[] = "intensifier";
  static constexpr char kAdjective[] = "adjective";
  static constexpr char kPunctuation[] = "punctuation";
  static constexpr char kOther[] = "other";

  // All of them, in this order.
  static const std::vector<std::string>& known();
  static bool is_known(std::string_view name);
};

struct LexiconEntry {
  std::string word;
  std::string word_class = WordClass::kOther;  // Of a-z, 0-9 and _, at most 32.
  double polarity = 0.0;  // -1 negative ... +1 positive; of the known classes only adjectives have one.
  double strength = 0.0;  // 0 ... 1; of the known classes only intensifiers have one.
  std::map<std::string, double> more = {};  // Attributes of a user's own, in [-1, 1]; none is 0.
  // Words that are used as it is. Only LanguageModel::with_words() reads them, of a model with word vectors: for words
  // whose spelling does not say what they are.
  std::vector<std::string> like = {};

  // By name, polarity and strength included; 0 if the word has no such attribute.
  double attribute(std::string_view name) const;
  bool operator==(const LexiconEntry&) const = default;
};

// A dictionary from word to class, polarity and strength. Immutable.
class Lexicon {
 public:
  // Throws Error if a word is empty or appears twice, a class has no proper name, or an attribute is out of its range.
  explicit Lexicon(std::vector<LexiconEntry> entries);

  // Reads lines of tab-separated columns: a heading `word class polarity strength` (the last two may be missing, and
  // attributes of any other name may follow, and `like`, words with commas between), then a word each; an empty cell is
  // 0, lines that begin with # and empty ones do not count. Throws Error as "origin:line: what" for anything else.
  static Lexicon parse(std::string_view tsv, std::string_view origin);
  static Lexicon load(const std::filesystem::path& path);

  const std::vector<LexiconEntry>& entries() const { return entries_; }
  const LexiconEntry* find(std::string_view word) const;

  // Words of a class with the given sign of polarity (0: any), in the lexicon's order.
  std::vector<std::string> words(std::string_view word_class, int polarity_sign = 0) const;

  // The known classes, then the lexicon's own in the order of their first words. A class's id is its place here.
  const std::vector<std::string>& class_names() const { return class_names_; }
  // The id of a word's class; words that the lexicon lacks are of class `other`.
  std::size_t class_of(std::string_view word) const;
  static constexpr std::size_t kPunctuationClass = 6;  // The id of `punctuation`,
  static constexpr std::size_t kOtherClass = 7;        // and that of `other`.

 private:
  std::vector<LexiconEntry> entries_;
  std::vector<std::string> class_names_;
  std::vector<std::size_t> classes_;  // An id for each entry.
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace semfuse
