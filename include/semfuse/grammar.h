// Grammars in GBNF, JSON Schema or as regular expressions: the text, its compiled form for one vocabulary, and the
// cursor that follows a sentence through it.
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

// How JSON that a schema describes is written.
struct JsonSchemaOptions {
  enum class Whitespace {
    none,     // {"a":1,"b":[1,2]}, the shortest.
    spaced,   // {"a": 1, "b": [1, 2]}, as Python's json.dumps writes.
    flexible  // Up to a line end and 20 blanks wherever JSON lets white space stand: what a model is used to.
  };
  Whitespace whitespace = Whitespace::flexible;
  // Members in any order, rather than in that of "properties" with others behind them. Costs states: at most 10 names.
  bool any_order = false;
};

// What the grammar's text says; knows no vocabulary. Immutable, cheap to copy.
class Grammar {
 public:
  // Reads GBNF. `@class` stands for every word that `words_of_class` gives for it (without one there are no classes),
  // `name[knob=value]` sets a knob for what the rule describes. Throws Error as "origin:line:column: what" for text
  // that is not well formed, too large, or describes no sentence at all.
  static Grammar parse(std::string_view gbnf, std::string_view origin, const WordsOfClass& words_of_class = {});
  // A file of GBNF, or of a JSON Schema if its name ends with ".json".
  static Grammar load(const std::string& path, const WordsOfClass& words_of_class = {});
  // The JSON texts that validate against a schema of draft 2020-12, given as JSON. What a grammar cannot say is
  // refused, never ignored: throws Error as "origin#/json/pointer: what". docs/grammars.md has the table of keywords.
  static Grammar from_json_schema(std::string_view schema, std::string_view origin = "schema",
                                  const JsonSchemaOptions& options = {});
  // The texts that a regular expression matches from their beginning to their end. Throws Error as
  // "origin:1:column: what". docs/grammars.md has the dialect.
  static Grammar from_regex(std::string_view regex, std::string_view origin = "regex");
  // One of grammars/*.gbnf by its name: "one-clause". Throws Error that lists them if there is none of that name.
  static Grammar builtin(std::string_view name, const WordsOfClass& words_of_class);

  struct Match {
    bool accepted = false;
    std::size_t offset = 0;             // Bytes read before the text left the language (or its end).
    std::vector<std::string> expected;  // What could stand there, readable, at most a dozen; "end of text" among them.
  };
  // Whether the text, byte for byte, is in the language.
  Match match(std::string_view text) const;

  // The GBNF that it was read from, or that a schema or regular expression was turned into. parse() reads it again,
  // with the same words of classes.
  const std::string& gbnf() const;

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

// A vocabulary made ready for grammars: its tokens as trees of bytes. Made once, which takes longer than compiling an
// ordinary grammar, and shared by all grammars that are compiled for it. Immutable, cheap to copy, for any thread.
class GrammarVocabulary {
 public:
  // Throws Error if the surfaces do not belong together, or the end token is none of them or has a surface.
  explicit GrammarVocabulary(TokenSurfaces surfaces);

  std::size_t size() const;  // Tokens.
  TokenId end() const;
  const TokenSurfaces& surfaces() const;
  std::uint64_t fingerprint() const;  // That of the surfaces.

  // Tokens whose later surfaces are the text, from left to right each the longest that fits; ends early where none
  // does.
  std::vector<TokenId> cut(std::string_view text) const;

 private:
  friend class CompiledGrammar;
  friend class GrammarCursor;
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

class GrammarCursor;

// A grammar for one vocabulary: which tokens may follow. Immutable and shared between threads. What a text asks for is
// computed then, and kept for all cursors.
class CompiledGrammar {
 public:
  // Throws Error if the vocabulary cannot complete any sentence of the grammar.
  CompiledGrammar(const Grammar& grammar, GrammarVocabulary vocabulary);
  CompiledGrammar(const Grammar& grammar, TokenSurfaces surfaces);

  // At the beginning of a text.
  GrammarCursor begin() const;

  const Grammar& grammar() const;
  const GrammarVocabulary& vocabulary() const;

  // Whether every text of allowed tokens can be completed with the vocabulary. False only where a vocabulary without a
  // token for each byte is too large to search with a recursive grammar: then a text may come to where nothing is
  // allowed.
  bool promises_end() const;

  // The vocabulary that it was compiled for; its masks are of no use to another one.
  std::size_t vocab_size() const;
  std::uint64_t vocabulary_fingerprint() const;

 private:
  friend class GrammarCursor;
  struct State;
  std::shared_ptr<const State> state_;
};

// Where a text stands in the grammar. Copyable: a copy goes its own way. One thread at a time; cursors of one grammar
// may be in different threads.
class GrammarCursor {
 public:
  // Tokens that may come next, the end token among them where the text may end; from each of them the vocabulary can
  // reach the end of a sentence, if CompiledGrammar::promises_end(). Valid until the cursor moves.
  const TokenSet& allowed();

  // The same as bits: token t is bit t % 32 of word t / 32. Throws Error unless there are (vocab_size + 31) / 32 words.
  void fill(std::span<std::int32_t> words);

  // Those of them after which the text can still come to an end with `budget` more tokens, the one that is chosen here
  // included, the end token not. All of them where the budget is not near. None if no sentence is that short, or if
  // that cannot be told (a recursive grammar and a search that would take too long). Valid until the cursor moves or
  // is asked again.
  const TokenSet& allowed_within(std::size_t budget);

  // Appends a token. False, and the cursor stays, if the token is not allowed.
  bool advance(TokenId id);

  // Takes back the last tokens, the end token too. Throws Error if there are not so many.
  void rollback(std::size_t num_tokens);
  std::span<const TokenId> tokens() const;  // Those appended so far. Valid until the cursor moves.

  bool can_end() const;  // The text so far is a sentence of the language.
  bool ended() const;    // The end token was appended.

  // The only token that may come next, if there is just one.
  std::optional<TokenId> forced();

  // How every sentence goes on from here, up to the first choice: whole characters, at most `most_bytes`. Often longer
  // than what forced() leads to, as the same text can be cut into tokens in several ways.
  std::string forced_text(std::size_t most_bytes = 4096);
  // Tokens for that text (GrammarVocabulary::cut), but the last, which a longer token may replace unless the text ends
  // with it. Each of them is allowed in its turn.
  std::vector<TokenId> forced_tokens(std::size_t most_bytes = 4096);

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
  explicit GrammarCursor(std::shared_ptr<const CompiledGrammar::State> grammar);
  std::unique_ptr<Position> position_;
};

}  // namespace semfuse
