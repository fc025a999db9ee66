// Time of a grammar's mask, token by token along texts of the language; one JSON line at the end.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/random.h"
#include "semfuse/class_words.h"
#include "semfuse/corpus.h"
#include "semfuse/grammar.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double resident_megabytes() {
  std::ifstream status("/proc/self/statm");
  double total = 0;
  double resident = 0;
  status >> total >> resident;
  return resident * 4096 / 1e6;
}

// Every byte, JSON's punctuation, words with and without a space before them, and pieces of random letters: what a
// subword vocabulary of that size looks like to a grammar.
TokenSurfaces byte_string_vocabulary(std::size_t size) {
  RandomStream random(1, RandomPurpose::held_out, 128);
  std::vector<std::string> strings = {"", "", ""};
  std::set<std::string> seen;
  const auto add = [&](const std::string& string) {
    if (strings.size() < size && seen.insert(string).second) strings.push_back(string);
  };
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  const std::vector<std::string> marks = {"{", "}", "[", "]", "\"", ":", ",", " ", "\n", "\\", "-", "."};
  for (const std::string& a : marks) {
    for (const std::string& b : marks) {
      add(a + b);
      for (const std::string& c : marks) add(a + b + c);
    }
  }
  for (int spaces = 2; spaces <= 32; ++spaces) {
    add(std::string(static_cast<std::size_t>(spaces), ' '));
    add(fmt::format("\n{:{}}", "", spaces));
  }
  for (const std::string& word : synthetic_corpus_words()) {
    add(word);
    add(fmt::format(" {}", word));
  }
  for (int number = 0; number < 1000; ++number) add(std::to_string(number));
  const std::vector<std::string> syllables = {"ing", "er", "a",   "ti",  "on", "re", "st", "en", "com", "pro", "de",
                                              "al",  "in", "ly",  "mo",  "ne", "s",  "ed", "un", "ma",  "th",  "e",
                                              "o",   "ri", "con", "per", "é",  "ü",  "i",  "ch", "ta",  "le"};
  const std::vector<std::string> ends = {"",   "",    "",    "",    "",  "",  "",  "", "",
                                         "\"", "\",", "\":", "\"}", ".", ",", ")", ";"};
  while (strings.size() < size) {
    std::string piece = random.next_below(2) == 0 ? " " : "";
    const std::uint64_t length = 1 + random.next_below(4);
    for (std::uint64_t i = 0; i < length; ++i) piece += syllables[random.next_below(syllables.size())];
    if (random.next_below(4) == 0) piece[piece.size() > 1 ? 1 : 0] = static_cast<char>('A' + random.next_below(26));
    add(piece + ends[random.next_below(ends.size())]);
  }
  return {.first = strings, .later = strings};
}

std::string random_json(RandomStream& random, int depth) {
  const std::uint64_t kind = random.next_below(depth > 0 ? 8 : 5);
  if (kind < 3) {
    std::string text = "\"";
    const std::uint64_t num_words = 1 + random.next_below(6);
    const std::vector<std::string> words = synthetic_corpus_words();
    for (std::uint64_t i = 0; i < num_words; ++i)
      text.append(i > 0 ? " " : "").append(words[random.next_below(words.size())]);
    return text + (random.next_below(8) == 0 ? "\\n\"" : "\"");
  }
  if (kind == 3) return std::to_string(random.next_below(100000)) + (random.next_below(2) == 0 ? ".5" : "");
  if (kind == 4) return random.next_below(2) == 0 ? "true" : "null";
  const bool object = kind > 5;
  std::string text = object ? "{" : "[";
  const std::uint64_t length = random.next_below(5);
  for (std::uint64_t i = 0; i < length; ++i) {
    if (i > 0) text += ", ";
    if (object) text += fmt::format("\"key{}\": ", random.next_below(50));
    text += random_json(random, depth - 1);
  }
  return text + (object ? "}" : "]");
}

// Cuts text into tokens, each the longest that fits.
class LongestMatches {
 public:
  explicit LongestMatches(const TokenSurfaces& surfaces) {
    for (std::size_t i = 0; i < surfaces.later.size(); ++i) {
      if (!surfaces.later[i].empty()) ids_.emplace(surfaces.later[i], static_cast<TokenId>(i));
    }
  }

  std::vector<TokenId> tokenize(const std::string& text) const {
    std::vector<TokenId> tokens;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t length = std::min<std::size_t>(40, text.size() - at);
      while (!ids_.contains(text.substr(at, length))) --length;  // Every byte is a token.
      tokens.push_back(ids_.at(text.substr(at, length)));
      at += length;
    }
    return tokens;
  }

 private:
  std::unordered_map<std::string, TokenId> ids_;
};

// Microseconds of each mask along a text.
void follow(const CompiledGrammar& compiled, const std::vector<TokenId>& text, std::vector<double>& times) {
  GrammarCursor cursor = compiled.begin();
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const Clock::time_point before = Clock::now();
    cursor.allowed();
    times.push_back(microseconds_since(before));
    if (i < text.size() && !cursor.advance(text[i])) throw std::runtime_error("a text left the language");
  }
}

double quantile(std::vector<double>& times, double q) {
  std::sort(times.begin(), times.end());
  return times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))];
}

nlohmann::json measure(const std::string& name, const Grammar& grammar, const TokenSurfaces& surfaces,
                       const std::vector<std::vector<TokenId>>& texts) {
  constexpr std::size_t kNumCold = 10;
  const double memory_before = resident_megabytes();
  const Clock::time_point begin = Clock::now();
  const CompiledGrammar compiled(grammar, surfaces);
  const double compile_ms = microseconds_since(begin) / 1000;
  std::vector<double> times;
  for (const std::vector<TokenId>& text : texts) follow(compiled, text, times);
  const double memory = resident_megabytes() - memory_before;
  std::vector<double> cold;  // Each text the first that its compiled grammar meets.
  for (std::size_t i = 0; i < kNumCold; ++i) follow(CompiledGrammar(grammar, surfaces), texts[i], cold);
  const nlohmann::json row = {{"grammar", name},
                              {"vocabulary", surfaces.later.size()},
                              {"compile_ms", compile_ms},
                              {"median_us", quantile(times, 0.5)},
                              {"p99_us", quantile(times, 0.99)},
                              {"max_us", quantile(times, 1.0)},
                              {"masks", times.size()},
                              {"cold_median_us", quantile(cold, 0.5)},
                              {"cold_p99_us", quantile(cold, 0.99)},
                              {"cold_masks", cold.size()},
                              {"memory_mb", memory}};
  fmt::print(
      "{:10} {:6} tokens: compile {:6.1f} ms; mask median {:.3f} us, 99 % {:.2f} us, worst {:.1f} us of {}; on first "
      "texts median {:.2f} us, 99 % {:.1f} us of {}; {:.1f} MB\n",
      name, surfaces.later.size(), compile_ms, quantile(times, 0.5), quantile(times, 0.99), quantile(times, 1.0),
      times.size(), quantile(cold, 0.5), quantile(cold, 0.99), cold.size(), memory);
  return row;
}

int run(const std::string& folder) {
  const Lexicon lexicon = synthetic_lexicon();
  const Grammar two_clause = Grammar::load(folder + "/two-clause.gbnf", words_of(lexicon));
  const Grammar json_grammar = Grammar::load(folder + "/json.gbnf", words_of(lexicon));
  const Corpus corpus = make_synthetic_corpus({.train = 300, .val = 0});
  const Vocabulary vocabulary = Vocabulary::from_words(synthetic_corpus_words());
  const TokenSurfaces words = TokenSurfaces::of(vocabulary);
  const TokenSurfaces byte_strings = byte_string_vocabulary(128'000);
  const LongestMatches tokenizer(byte_strings);

  std::vector<std::vector<TokenId>> word_texts;
  std::vector<std::vector<TokenId>> byte_texts;
  for (const Sentence& sentence : corpus.train) {
    std::vector<TokenId> ids = vocabulary.encode(sentence);
    word_texts.emplace_back(ids.begin() + 1, ids.end());
    byte_texts.push_back(tokenizer.tokenize(join_words(sentence)));
  }
  std::vector<std::vector<TokenId>> json_texts;
  for (std::uint64_t i = 0; i < 100; ++i) {
    RandomStream random(i, RandomPurpose::held_out, 9);
    std::string text = "{";
    for (int member = 0; member < 8; ++member) {
      text += fmt::format("{}\"field{}\": {}", member > 0 ? ", " : "", member, random_json(random, 4));
    }
    json_texts.push_back(tokenizer.tokenize(text + "}"));
  }
  nlohmann::json rows = nlohmann::json::array();
  rows.push_back(measure("two-clause", two_clause, words, word_texts));
  rows.push_back(measure("two-clause", two_clause, byte_strings, byte_texts));
  rows.push_back(measure("json", json_grammar, byte_strings, json_texts));
  fmt::print("{}\n", nlohmann::json({{"grammar_masks", rows}}).dump());
  return 0;
}

}  // namespace
}  // namespace semfuse

// The argument is the folder of the grammars.
int main(int argc, char** argv) {
  try {
    return semfuse::run(argc > 1 ? argv[1] : "grammars");
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_grammar: {}\n", error.what());
    return 2;
  }
}
