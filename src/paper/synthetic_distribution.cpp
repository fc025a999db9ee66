#include "paper/synthetic_distribution.h"

#include <algorithm>
#include <cmath>

#include "paper/synthetic_corpus.h"

namespace semfuse {
namespace {

using Choice = SyntheticDistribution::Choice;

struct Weighted {
  std::string_view word;
  double weight;
};

template <typename Words>
std::vector<Weighted> equally(const Words& words) {
  std::vector<Weighted> result;
  result.reserve(words.size());
  for (const std::string_view word : words) result.push_back({word, 1.0});
  return result;
}

template <typename Words>
std::vector<Weighted> by_weight(const Words& words) {
  std::vector<Weighted> result;
  result.reserve(words.size());
  for (const auto& choice : words) result.push_back({choice.word, static_cast<double>(choice.weight)});
  return result;
}

class Builder {
 public:
  Builder(double second_clause, const std::vector<std::string>& left_out)
      : second_clause_(second_clause), left_out_(left_out) {}

  std::vector<std::vector<Choice>> build() {
    // The start, then for each pronoun what follows its subjects.
    states_.emplace_back();
    std::vector<Weighted> subjects;
    subjects.reserve(kSyntheticSubjects.size());
    for (const SyntheticSubject& subject : kSyntheticSubjects) subjects.push_back({subject.name, 1.0});
    std::vector<Choice> heads = share(subjects, 1.0, 0);
    for (const std::string_view pronoun : kSyntheticPronouns) {
      const std::size_t predicate = add_first_clause(pronoun);
      for (Choice& head : heads) {
        for (const SyntheticSubject& subject : kSyntheticSubjects) {
          if (subject.name == head.word && subject.pronoun == pronoun) head.next = predicate;
        }
      }
    }
    states_[0] = std::move(heads);
    const std::size_t end = states_.size();
    states_.emplace_back();
    for (std::vector<Choice>& choices : states_) {
      for (Choice& choice : choices) choice.next = std::min(choice.next, end);
    }
    return std::move(states_);
  }

 private:
  static constexpr std::size_t kEnd = static_cast<std::size_t>(-1);

  // Choices that share `total` by their weights, without those left out.
  std::vector<Choice> share(const std::vector<Weighted>& words, double total, std::size_t next) const {
    std::vector<Choice> choices;
    double sum = 0.0;
    for (const auto& [word, weight] : words) {
      if (std::find(left_out_.begin(), left_out_.end(), word) != left_out_.end()) continue;
      choices.push_back({word, weight, next});
      sum += weight;
    }
    for (Choice& choice : choices) choice.probability *= total / sum;
    return choices;
  }

  std::size_t add(std::vector<Choice> choices) {
    states_.push_back(std::move(choices));
    return states_.size() - 1;
  }

  // A state whose choices lead to the state after it.
  void add_place(const std::vector<Weighted>& words) { add(share(words, 1.0, states_.size() + 1)); }

  // VERB the OBJECT , INTENSIFIER ADJECTIVE; returns the first state.
  std::size_t add_predicate() {
    const std::size_t first = states_.size();
    add_place(equally(kSyntheticVerbs));
    add_place({{kSyntheticArticle, 1.0}});
    add_place(equally(kSyntheticObjects));
    add_place({{kSyntheticComma, 1.0}});
    add_place(by_weight(kSyntheticIntensifiers));
    std::vector<Choice> adjectives = share(equally(kSyntheticPositive), 0.5, states_.size() + 1);
    const std::vector<Choice> negative = share(equally(kSyntheticNegative), 0.5, states_.size() + 1);
    adjectives.insert(adjectives.end(), negative.begin(), negative.end());
    add(std::move(adjectives));
    return first;
  }

  std::size_t add_first_clause(std::string_view pronoun) {
    const std::size_t first = add_predicate();
    // After the first clause: a mark, or a conjunction and the second clause.
    const std::size_t fork = add({});
    const std::size_t second = add({});
    states_[second] = {{pronoun, 1.0, second + 1}};
    add_predicate();
    const std::size_t final_marks = add({});
    const std::size_t after_mark = add({{"<eos>", 1.0, kEnd}});
    states_[final_marks] = share(by_weight(kSyntheticFinalMarks), 1.0, after_mark);
    states_[fork] = share(by_weight(kSyntheticFinalMarks), 1.0 - second_clause_, after_mark);
    const std::vector<Choice> conjunctions = share(equally(kSyntheticConjunctions), second_clause_, second);
    states_[fork].insert(states_[fork].end(), conjunctions.begin(), conjunctions.end());
    return first;
  }

  double second_clause_;
  const std::vector<std::string>& left_out_;
  std::vector<std::vector<Choice>> states_;
};

}  // namespace

SyntheticDistribution::SyntheticDistribution(double second_clause, const std::vector<std::string>& left_out)
    : states_(Builder(second_clause, left_out).build()) {}

std::vector<double> SyntheticDistribution::visits() const {
  std::vector<double> visits(num_states());
  visits[kStart] = 1.0;
  for (std::size_t state = 0; state < num_states(); ++state) {
    for (const Choice& choice : states_[state]) visits[choice.next] += visits[state] * choice.probability;
  }
  return visits;
}

std::optional<double> SyntheticDistribution::log_probability(const Sentence& sentence) const {
  std::size_t state = kStart;
  double total = 0.0;
  for (std::size_t t = 0; t <= sentence.size(); ++t) {
    const std::string_view word = t < sentence.size() ? std::string_view(sentence[t]) : "<eos>";
    const auto found = std::find_if(states_[state].begin(), states_[state].end(), [&](const Choice& choice) {
      return choice.word == word && choice.probability > 0.0;
    });
    if (found == states_[state].end()) return std::nullopt;
    total += std::log(found->probability);
    state = found->next;
  }
  return total;
}

}  // namespace semfuse
