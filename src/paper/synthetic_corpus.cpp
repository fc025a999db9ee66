#include "paper/synthetic_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/nearest_word.h"
#include "core/random.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

constexpr std::size_t kHeldOutPerPolarity = 3;

// The words that a split draws from.
struct DrawnWords {
  std::vector<SyntheticSubject> subjects;
  std::vector<std::string_view> verbs;
  std::vector<std::string_view> objects;
  std::vector<SyntheticIntensifier> intensifiers;
  std::vector<std::string_view> positive;
  std::vector<std::string_view> negative;
};

std::string_view word_of(std::string_view word) {
  return word;
}
std::string_view word_of(const SyntheticSubject& subject) {
  return subject.name;
}
std::string_view word_of(const SyntheticIntensifier& intensifier) {
  return intensifier.word;
}

template <typename Words>
auto without(const Words& words, const std::vector<std::string>& removed, std::string_view what) {
  std::vector<typename Words::value_type> kept;
  std::vector<std::string_view> all;
  for (const auto& word : words) {
    all.push_back(word_of(word));
    if (std::find(removed.begin(), removed.end(), all.back()) == removed.end()) kept.push_back(word);
  }
  if (kept.empty()) {
    throw Error(
        fmt::format("synthetic corpus: every {} is held out, so there is none to train on; keep at least one of {}",
                    what, fmt::join(all, ", ")));
  }
  return kept;
}

DrawnWords words_without(const std::vector<std::string>& held_out) {
  return {.subjects = without(kSyntheticSubjects, held_out, "subject"),
          .verbs = without(kSyntheticVerbs, held_out, "verb"),
          .objects = without(kSyntheticObjects, held_out, "object"),
          .intensifiers = without(kSyntheticIntensifiers, held_out, "intensifier"),
          .positive = without(kSyntheticPositive, held_out, "positive adjective"),
          .negative = without(kSyntheticNegative, held_out, "negative adjective")};
}

// Every word that can be held out: those of a class with others.
std::vector<std::string> content_words() {
  std::vector<std::string> words;
  const auto add = [&words](const auto& list) {
    for (const auto& word : list) words.emplace_back(word_of(word));
  };
  add(kSyntheticSubjects);
  add(kSyntheticVerbs);
  add(kSyntheticObjects);
  add(kSyntheticIntensifiers);
  add(kSyntheticPositive);
  add(kSyntheticNegative);
  return words;
}

void check(const SyntheticCorpusOptions& options) {
  // Negated, so that NaN is caught too.
  if (!(options.second_clause >= 0.0 && options.second_clause <= 1.0)) {
    throw Error(
        fmt::format("synthetic corpus: second_clause is {}; choose a probability in [0, 1]", options.second_clause));
  }
  const std::vector<std::string> words = content_words();
  for (auto word = options.held_out.begin(); word != options.held_out.end(); ++word) {
    if (std::find(words.begin(), words.end(), *word) == words.end()) {
      throw Error(fmt::format(
          "synthetic corpus: held-out word \"{}\" is not one of its subjects, verbs, objects, intensifiers and "
          "adjectives ({}){}",
          *word, fmt::join(words, ", "), did_you_mean(*word, words)));
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
void append_predicate(RandomStream& random, const DrawnWords& words, Sentence& sentence) {
  sentence.emplace_back(draw(random, words.verbs));
  sentence.emplace_back(kSyntheticArticle);
  sentence.emplace_back(draw(random, words.objects));
  sentence.emplace_back(kSyntheticComma);
  sentence.emplace_back(draw_weighted(random, words.intensifiers));
  const bool positive = random.next_below(2) == 0;
  sentence.emplace_back(draw(random, positive ? words.positive : words.negative));
}

Sentence draw_sentence(RandomStream random, const DrawnWords& words, double second_clause) {
  Sentence sentence;
  const SyntheticSubject& subject = draw(random, words.subjects);
  sentence.emplace_back(subject.name);
  append_predicate(random, words, sentence);
  if (random.next_uniform() < second_clause) {
    sentence.emplace_back(draw(random, kSyntheticConjunctions));
    sentence.emplace_back(subject.pronoun);
    append_predicate(random, words, sentence);
  }
  sentence.emplace_back(draw_weighted(random, kSyntheticFinalMarks));
  return sentence;
}

std::vector<Sentence> draw_split(const SyntheticCorpusOptions& options, RandomPurpose split, std::size_t num_sentences,
                                 const DrawnWords& words) {
  std::vector<Sentence> sentences;
  sentences.reserve(num_sentences);
  for (std::size_t i = 0; i < num_sentences; ++i) {
    sentences.push_back(draw_sentence(RandomStream(options.seed, split, i), words, options.second_clause));
  }
  return sentences;
}

}  // namespace

Corpus make_synthetic_corpus(const SyntheticCorpusOptions& options) {
  check(options);
  const DrawnWords seen = words_without(options.held_out);
  return {.train = draw_split(options, RandomPurpose::corpus_train, options.train, seen),
          .val = draw_split(options, RandomPurpose::corpus_val, options.val, words_without({}))};
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
  const DrawnWords words = words_without({});
  std::vector<std::string> held_out;
  for (std::vector<std::string_view> left : {words.positive, words.negative}) {
    for (std::size_t i = 0; i < kHeldOutPerPolarity; ++i) {
      const auto chosen = left.begin() + static_cast<std::ptrdiff_t>(random.next_below(left.size()));
      held_out.emplace_back(*chosen);
      left.erase(chosen);
    }
  }
  return held_out;
}

std::vector<std::string> random_held_out_classes(std::uint64_t seed) {
  RandomStream random(seed, RandomPurpose::held_out, /*step=*/1);
  const DrawnWords words = words_without({});
  std::vector<std::string> held_out;
  held_out.emplace_back(draw(random, words.subjects).name);
  for (const auto* list : {&words.verbs, &words.objects, &words.positive, &words.negative}) {
    held_out.emplace_back(draw(random, *list));
  }
  return held_out;
}

}  // namespace semfuse
