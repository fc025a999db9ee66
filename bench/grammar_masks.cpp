// Time of compiling a grammar for a vocabulary from a file, and of its masks along texts; one JSON line.
//
//   grammar_masks VOCABULARY GRAMMAR TEXTS
//
// VOCABULARY has a token a line, in hexadecimal; the one behind the last ends a text. GRAMMAR is GBNF, or a schema
// (*.json). TEXTS has a list of token ids a line. Processor time throughout, less what reading the clock takes.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "semfuse/error.h"
#include "semfuse/grammar.h"

namespace semfuse {
namespace {

double microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

// What is free goes back first, or a grammar would live in it unseen.
double resident_megabytes() {
  malloc_trim(0);
  std::ifstream status("/proc/self/statm");
  double total = 0;
  double resident = 0;
  status >> total >> resident;
  return resident * 4096 / 1e6;
}

TokenSurfaces read_vocabulary(const std::string& path) {
  TokenSurfaces surfaces;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::string token;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2)
      token.push_back(static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16)));
    surfaces.later.push_back(token);
  }
  surfaces.end = static_cast<TokenId>(surfaces.later.size());
  surfaces.later.emplace_back();
  surfaces.first = surfaces.later;
  return surfaces;
}

std::vector<std::vector<TokenId>> read_texts(const std::string& path) {
  std::vector<std::vector<TokenId>> texts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    texts.emplace_back();
    for (TokenId id = 0; words >> id;) texts.back().push_back(id);
  }
  return texts;
}

double quantile(std::vector<double> times, double q) {
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  return times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))];
}

double sum(const std::vector<double>& times) {
  double total = 0;
  for (const double time : times) total += time;
  return total;
}

double clock_cost() {
  std::vector<double> times;
  for (int i = 0; i < 2000; ++i) {
    const double begin = microseconds();
    times.push_back(microseconds() - begin);
  }
  return quantile(std::move(times), 0.5);
}

struct Times {
  std::vector<double> masks;
  std::vector<double> tokens;  // The mask and the step.
};

void follow(const CompiledGrammar& compiled, const std::vector<TokenId>& text, double cost, Times& times) {
  std::vector<std::int32_t> words((compiled.vocab_size() + 31) / 32);
  GrammarCursor cursor = compiled.begin();
  for (const TokenId id : text) {
    const double begin = microseconds();
    cursor.fill(words);
    const double filled = microseconds();
    if (!cursor.advance(id)) throw std::runtime_error("a text leaves the language");
    times.tokens.push_back(std::max(0.0, microseconds() - begin - 2 * cost));
    times.masks.push_back(std::max(0.0, filled - begin - cost));
  }
}

void run(const std::string& vocabulary_path, const std::string& grammar_path, const std::string& texts_path) {
  const std::vector<std::vector<TokenId>> texts = read_texts(texts_path);
  TokenSurfaces surfaces = read_vocabulary(vocabulary_path);
  const double before_vocabulary = microseconds();
  const GrammarVocabulary vocabulary(std::move(surfaces));
  const double vocabulary_ms = (microseconds() - before_vocabulary) / 1000;
  static_cast<void>(CompiledGrammar(Grammar::parse("root ::= \"a\"", "warm"), vocabulary));
  const double memory = resident_megabytes();
  const double before = microseconds();
  const Grammar grammar = Grammar::load(grammar_path);
  const double parsed = microseconds();
  const CompiledGrammar compiled(grammar, vocabulary);
  const double compile_ms = (microseconds() - before) / 1000;
  const double cost = clock_cost();
  Times first;
  Times later;
  follow(compiled, texts.at(0), cost, first);
  for (std::size_t i = 1; i < texts.size(); ++i) follow(compiled, texts[i], cost, later);
  const std::size_t begun = std::min<std::size_t>(200, first.tokens.size());
  const double first_200 = sum({first.tokens.begin(), first.tokens.begin() + static_cast<std::ptrdiff_t>(begun)});
  const auto mean = [](const std::vector<double>& times) {
    return times.empty() ? 0 : sum(times) / static_cast<double>(times.size());
  };
  fmt::print(
      "{{\"vocabulary_ms\": {:.2f}, \"parse_ms\": {:.2f}, \"compile_ms\": {:.2f}, \"first_p50\": {:.2f}, "
      "\"first_p99\": {:.1f}, \"first_mean\": {:.2f}, \"later_p50\": {:.2f}, \"later_p99\": {:.1f}, "
      "\"later_mean\": {:.2f}, \"all_in_ms\": {:.2f}, \"tokens\": {}, \"refused\": 0, \"megabytes\": {:.1f}}}\n",
      vocabulary_ms, (parsed - before) / 1000, compile_ms, quantile(first.masks, 0.5), quantile(first.masks, 0.99),
      mean(first.masks), quantile(later.masks, 0.5), quantile(later.masks, 0.99), mean(later.masks),
      compile_ms + first_200 / 1000, first.masks.size() + later.masks.size(), resident_megabytes() - memory);
}

}  // namespace
}  // namespace semfuse

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "grammar_masks VOCABULARY GRAMMAR TEXTS\n");
    return 2;
  }
  try {
    semfuse::run(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "grammar_masks: {}\n", error.what());
    return 2;
  }
  return 0;
}
