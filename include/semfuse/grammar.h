// Grammars in GBNF: the text, its compiled form for one vocabulary, and the cursor that follows a sentence through it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/tokenizer.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// What one step of the grammar allows: a set of token ids.
class TokenSet {
 public:
  TokenSet() = default;
  explicit TokenSet(std::size_t size) : size_(size), words_((size + 63) / 64) {}

  std::size_t size() const { return size_; }  // Of the vocabulary.
  bool contains(TokenId id) const {
    const auto index = static_cast<std::size_t>(id);
    return (words_[index / 64] >> (index % 64) & 1) != 0;
  }
  void insert(TokenId id) {
    words_[static_cast<std::size_t>(id) / 64] |= std::uint64_t{1} << (static_cast<std::size_t>(id) % 64);
  }
  void unite(const TokenSet& other);
  std::size_t count() const;
  std::optional<TokenId> only() const;  // The token, if there is just one.
  std::vector<TokenId> ids() const;     // Ascending.
  std::span<const std::uint64_t> words() const { return words_; }
  std::span<std::uint64_t> words() { return words_; }

 private:
  std::size_t size_ = 0;
  std::vector<std::uint64_t> words_;
};

// A knob that a rule is used with: `adj[polarity=0.9]`. It holds for the choice of a word where no other value of that
// knob is set for a word that may stand there; a word is of the rule that its last byte is of.
struct RuleSetting {
  std::string knob;
  std::string value;  // As written.
  std::string where;  // "origin:line:column"
};

// The words that `@name` stands for, in any order. Throws Error, without a place, for a name that it does not know.
// words_of() in class_words.h makes one of a lexicon.
using WordsOfClass = std::function<std::vector<std::string>(std::string_view name)>;

// What the grammar's text says; knows no vocabulary. Immutable, cheap to copy.
class Grammar {
 public:
  // Reads GBNF. `@class` stands for every word that `words_of_class` gives for it (without one there are no classes),
  // `name[knob=value]` sets a knob for what the rule describes. Throws Error as "origin:line:column: what" for text
  // that is not well formed, too large, or describes no sentence at all.
  static Grammar parse(std::string_view gbnf, std::string_view origin, const WordsOfClass& words_of_class = {});
  static Grammar load(const std::string& path, const WordsOfClass& words_of_class = {});
  // One of grammars/*.gbnf by its name: "one-clause". Throws Error that lists them if there is none of that name.
  static Grammar builtin(std::string_view name, const WordsOfClass& words_of_class);

  struct Match {
    bool accepted = false;
    std::size_t offset = 0;             // Bytes read before the text left the language (or its end).
    std::vector<std::string> expected;  // What could stand there, readable, at most a dozen; "end of text" among them.
  };
  // Whether the text, byte for byte, is in the language.
  Match match(std::string_view text) const;

  // Those of all rules, each once. The grammar knows no knobs: whoever has a model checks them.
  const std::vector<RuleSetting>& settings() const;

 private:
  friend class CompiledGrammar;
  friend class GrammarCursor;
  friend struct GrammarAccess;
  struct Parts;
  explicit Grammar(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

// How tokens look in text: the bytes that a token adds at the beginning of a text and anywhere else; empty for a token
// that never stands in text, as <pad>.
struct TokenSurfaces {
  std::vector<std::string> first;
  std::vector<std::string> later;
  TokenId end = Vocabulary::kEos;  // Ends the text; its surfaces are empty.
  // A token that may come first and then is nothing of the text, which goes on as after any other; -1: there is none.
  TokenId leading_blank = -1;

  static TokenSurfaces of(const Vocabulary& vocabulary);  // As join_words() joins.
  static TokenSurfaces of(const Tokenizer& tokenizer);    // The bytes that it says, without the blank before a text.

  // Of the surfaces, their order and the end token: two vocabularies that look the same have the same.
  std::uint64_t fingerprint() const;
};

class GrammarCursor;

// A grammar for one vocabulary: which tokens may follow. Immutable and shared between threads.
class CompiledGrammar {
 public:
  // Throws Error if the vocabulary cannot complete any sentence of the grammar.
  CompiledGrammar(const Grammar& grammar, TokenSurfaces surfaces);

  // At the beginning of a text.
  GrammarCursor begin() const;

  const Grammar& grammar() const;

  // The vocabulary that it was compiled for; its masks are of no use to another one.
  std::size_t vocab_size() const;
  std::uint64_t vocabulary_fingerprint() const;

 private:
  friend class GrammarCursor;
  struct State;
  std::shared_ptr<const State> state_;
};

// Where a text stands in the grammar. Copyable: a copy goes its own way. One thread at a time.
class GrammarCursor {
 public:
  // Tokens that may come next, the end token among them where the text may end; from each of them the vocabulary can
  // reach the end of a sentence. Valid until the cursor moves.
  const TokenSet& allowed();

  // Those of them after which the text can still come to an end with `budget` more tokens, the one that is chosen here
  // included, the end token not. All of them where the budget is not near. None if no sentence is that short, or if
  // that cannot be told (a recursive grammar and a search that would take too long). Valid until the cursor moves or
  // is asked again.
  const TokenSet& allowed_within(std::size_t budget);

  // Appends a token. False, and the cursor stays, if the token is not allowed.
  bool advance(TokenId id);

  bool can_end() const;  // The text so far is a sentence of the language.
  bool ended() const;    // The end token was appended.

  // The only token that may come next, if there is just one.
  std::optional<TokenId> forced();

  // Settings of the rules that the tokens which may come next are in: places in Grammar::settings(), ascending.
  std::vector<std::size_t> settings();

  // What could stand here, readable, for messages; at most `limit`, then "...".
  std::vector<std::string> expected(std::size_t limit = 12);

  GrammarCursor(GrammarCursor&&) noexcept;
  GrammarCursor(const GrammarCursor&);
  GrammarCursor& operator=(GrammarCursor&&) noexcept;
  GrammarCursor& operator=(const GrammarCursor&);
  ~GrammarCursor();

 private:
  friend class CompiledGrammar;
  struct Position;
  explicit GrammarCursor(std::unique_ptr<Position> position);
  std::unique_ptr<Position> position_;
};

}  // namespace semfuse
