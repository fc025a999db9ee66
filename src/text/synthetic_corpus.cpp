#include "text/synthetic_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/nearest_word.h"
#include "core/random.h"
#include "semfuse/corpus.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kHeldOutPerPolarity = 3;

// The adjectives that a split draws from.
struct Adjectives {
  std::vector<std::string_view> positive;
  std::vector<std::string_view> negative;
};

Adjectives all_adjectives() {
  return {.positive = {kSyntheticPositive.begin(), kSyntheticPositive.end()},
          .negative = {kSyntheticNegative.begin(), kSyntheticNegative.end()}};
}

std::vector<std::string_view> without(std::span<const std::string_view> words, const std::vector<std::string>& removed,
                                      std::string_view polarity) {
  std::vector<std::string_view> kept;
  for (const std::string_view word : words) {
    if (std::find(removed.begin(), removed.end(), word) == removed.end()) kept.push_back(word);
  }
  if (kept.empty()) {
    throw Error(fmt::format(
        "synthetic corpus: every {} adjective is held out, so there is none to train on; keep at least one of {}",
        polarity, fmt::join(words, ", ")));
  }
  return kept;
}

void check(const SyntheticCorpusOptions& options) {
  // Negated, so that NaN is caught too.
  if (!(options.second_clause >= 0.0 && options.second_clause <= 1.0)) {
    throw Error(
        fmt::format("synthetic corpus: second_clause is {}; choose a probability in [0, 1]", options.second_clause));
  }
  std::vector<std::string> adjectives(kSyntheticPositive.begin(), kSyntheticPositive.end());
  adjectives.insert(adjectives.end(), kSyntheticNegative.begin(), kSyntheticNegative.end());
  for (auto word = options.held_out.begin(); word != options.held_out.end(); ++word) {
    if (std::find(adjectives.begin(), adjectives.end(), *word) == adjectives.end()) {
      throw Error(fmt::format("synthetic corpus: held-out word \"{}\" is not one of its adjectives ({}){}", *word,
                              fmt::join(adjectives, ", "), did_you_mean(*word, adjectives)));
    }
    if (std::find(options.held_out.begin(), word, *word) != word) {
      throw Error(fmt::format("synthetic corpus: held-out word \"{}\" appears twice; remove one", *word));
    }
  }
}

template <typename Words>
const auto& draw(RandomStream& random, const Words& words) {
  return words[random.next_below(words.size())];
}

template <typename Words>
std::string_view draw_weighted(RandomStream& random, const Words& words) {
  std::uint64_t total = 0;
  for (const auto& choice : words) total += choice.weight;
  std::uint64_t ticket = random.next_below(total);
  for (const auto& choice : words) {
    if (ticket < choice.weight) return choice.word;
    ticket -= choice.weight;
  }
  return words.back().word;
}

// The words of a clause after its head.
void append_predicate(RandomStream& random, const Adjectives& adjectives, Sentence& sentence) {
  sentence.emplace_back(draw(random, kSyntheticVerbs));
  sentence.emplace_back(kSyntheticArticle);
  sentence.emplace_back(draw(random, kSyntheticObjects));
  sentence.emplace_back(kSyntheticComma);
  sentence.emplace_back(draw_weighted(random, kSyntheticIntensifiers));
  const bool positive = random.next_below(2) == 0;
  sentence.emplace_back(draw(random, positive ? adjectives.positive : adjectives.negative));
}

Sentence draw_sentence(RandomStream random, const Adjectives& adjectives, double second_clause) {
  Sentence sentence;
  const SyntheticSubject& subject = draw(random, kSyntheticSubjects);
  sentence.emplace_back(subject.name);
  append_predicate(random, adjectives, sentence);
  if (random.next_uniform() < second_clause) {
    sentence.emplace_back(draw(random, kSyntheticConjunctions));
    sentence.emplace_back(subject.pronoun);
    append_predicate(random, adjectives, sentence);
  }
  sentence.emplace_back(draw_weighted(random, kSyntheticFinalMarks));
  return sentence;
}

std::vector<Sentence> draw_split(const SyntheticCorpusOptions& options, RandomPurpose split, std::size_t num_sentences,
                                 const Adjectives& adjectives) {
  std::vector<Sentence> sentences;
  sentences.reserve(num_sentences);
  for (std::size_t i = 0; i < num_sentences; ++i) {
    sentences.push_back(draw_sentence(RandomStream(options.seed, split, i), adjectives, options.second_clause));
  }
  return sentences;
}

}  // namespace

Corpus make_synthetic_corpus(const SyntheticCorpusOptions& options) {
  check(options);
  const Adjectives seen = {.positive = without(kSyntheticPositive, options.held_out, "positive"),
                           .negative = without(kSyntheticNegative, options.held_out, "negative")};
  return {.train = draw_split(options, RandomPurpose::corpus_train, options.train, seen),
          .val = draw_split(options, RandomPurpose::corpus_val, options.val, all_adjectives())};
}

std::vector<std::string> synthetic_corpus_words() {
  std::vector<std::string> words = {std::string(kSyntheticArticle), std::string(kSyntheticComma)};
  const auto add = [&words](const auto& list) { words.insert(words.end(), list.begin(), list.end()); };
  add(kSyntheticPronouns);
  add(kSyntheticVerbs);
  add(kSyntheticObjects);
  add(kSyntheticPositive);
  add(kSyntheticNegative);
  add(kSyntheticConjunctions);
  for (const SyntheticSubject& subject : kSyntheticSubjects) words.emplace_back(subject.name);
  for (const SyntheticIntensifier& intensifier : kSyntheticIntensifiers) words.emplace_back(intensifier.word);
  for (const SyntheticMark& mark : kSyntheticFinalMarks) words.emplace_back(mark.word);
  std::sort(words.begin(), words.end());
  return words;
}

std::vector<std::string> paper_held_out_words() {
  return {"wonderful", "excellent", "great", "terrible", "awful", "unpleasant"};
}

std::vector<std::string> random_held_out_words(std::uint64_t seed) {
  RandomStream random(seed, RandomPurpose::held_out);
  const Adjectives adjectives = all_adjectives();
  std::vector<std::string> held_out;
  for (std::vector<std::string_view> left : {adjectives.positive, adjectives.negative}) {
    for (std::size_t i = 0; i < kHeldOutPerPolarity; ++i) {
      const auto chosen = left.begin() + static_cast<std::ptrdiff_t>(random.next_below(left.size()));
      held_out.emplace_back(*chosen);
      left.erase(chosen);
    }
  }
  return held_out;
}

}  // namespace semfuse
