#include "decoding/token_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "decoding/logit_rules.h"
#include "decoding/sampler.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr const char* kNothingLeft = "the rules leave no token to choose from; loosen them or the grammar";

}  // namespace

std::vector<std::optional<WordClass>> word_classes(const LanguageModel& model) {
  std::vector<std::optional<WordClass>> classes(model.vocabulary().size());
  for (std::size_t id = Vocabulary::kEos + 1; id < classes.size(); ++id) {
    const LexiconEntry* entry = model.feature_bank().lexicon().find(model.vocabulary().entries()[id]);
    classes[id] = entry == nullptr ? WordClass::other : entry->word_class;
  }
  return classes;
}

std::optional<WordClass> slot_of(const TokenSet& allowed, std::span<const std::optional<WordClass>> classes) {
  std::optional<WordClass> slot;
  for (std::size_t word = 0; word < allowed.words().size(); ++word) {
    for (std::uint64_t bits = allowed.words()[word]; bits != 0; bits &= bits - 1) {
      const auto word_class = classes[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
      if (!word_class || word_class == WordClass::other) continue;
      if (slot && slot != word_class) return std::nullopt;
      slot = word_class;
    }
  }
  return slot;
}

TokenChoice::TokenChoice(const GenerationRequest& request) : request_(request) {
  if (request.controls.active()) {
    rules_.push_back(std::make_shared<HardRequestRule>(request.controls));
    rules_.push_back(std::make_shared<SteeringRule>(request.controls));
  }
  if (request.repetition.penalty != 1.0) rules_.push_back(std::make_shared<RepetitionRule>(request.repetition));
  rules_.insert(rules_.end(), request.rules.begin(), request.rules.end());
}

// Adjectives of a hard request come from the class mixture, if the slot holds nothing but adjectives.
bool TokenChoice::draws_from_mixture(const DecodingStep& step) const {
  if (step.slot != WordClass::adjective || !hard_polarity(request_.controls)) return false;
  const Lexicon& lexicon = step.model.feature_bank().lexicon();
  bool wanted = false;
  for (const TokenId id : step.allowed->ids()) {
    const LexiconEntry* entry = lexicon.find(step.model.vocabulary().word(id));
    if (entry == nullptr || entry->word_class != WordClass::adjective) return false;
    wanted = wanted || entry->polarity * request_.controls.polarity() > 0.0;
  }
  return wanted;
}

void TokenChoice::apply_rules(const DecodingStep& step, std::span<const float> logits) {
  model_.assign(logits.begin(), logits.end());
  if (!std::all_of(model_.begin(), model_.end(), [](double logit) { return std::isfinite(logit); })) {
    throw Error("the model's logits are not finite; its weights are damaged, train it again");
  }
  model_[Vocabulary::kPad] = model_[Vocabulary::kBos] = -INFINITY;
  allowed_ = model_;
  if (step.allowed != nullptr) {
    for (std::size_t id = 0; id < allowed_.size(); ++id) {
      if (!step.allowed->contains(static_cast<TokenId>(id))) allowed_[id] = -INFINITY;
    }
  }
  ruled_ = allowed_;
  if (request_.controls.active() && !HardRequestRule(request_.controls).can_be_met(step, allowed_)) unmet_ = true;
  from_mixture_ = draws_from_mixture(step);
  if (from_mixture_) {
    HardRequestRule(request_.controls).apply(step, ruled_);
    for (const auto& rule : request_.rules) rule->apply(step, ruled_);
  } else {
    for (const auto& rule : rules_) rule->apply(step, ruled_);
  }
}

std::vector<TokenProbability> TokenChoice::mixture() const {
  std::vector<TokenId> tokens;
  for (std::size_t id = 0; id < ruled_.size(); ++id) {
    if (ruled_[id] != -INFINITY) tokens.push_back(static_cast<TokenId>(id));
  }
  if (tokens.empty()) throw Error(kNothingLeft);
  const bool positive = request_.controls.polarity() > 0.0;
  auto result = mixture_distribution(ruled_, tokens, positive ? request_.controls.positive : request_.controls.negative,
                                     request_.sampling.nucleus);
  if (request_.sampling.greedy || request_.sampling.temperature == 0.0) result = {{result.front().id, 1.0}};
  return result;
}

std::vector<TokenProbability> TokenChoice::distribution(const DecodingStep& step, std::span<const float> logits) {
  apply_rules(step, logits);
  if (from_mixture_) return mixture();
  auto result = sampling_distribution(ruled_, request_.sampling);
  if (result.empty() ||
      std::any_of(result.begin(), result.end(), [](const auto& e) { return std::isnan(e.probability); })) {
    throw Error(kNothingLeft);
  }
  return result;
}

TokenProbability TokenChoice::draw(const DecodingStep& step, std::span<const float> logits, double uniform) {
  apply_rules(step, logits);
  if (from_mixture_) return drawn_from(mixture(), uniform);
  const std::optional<TokenProbability> token = sample(ruled_, request_.sampling, uniform);
  if (!token) throw Error(kNothingLeft);
  return *token;
}

namespace {

constexpr std::size_t kChoicesShown = 3;

std::vector<double> softmax(std::span<const double> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> result;
  double sum = 0.0;
  for (const double logit : logits) sum += result.emplace_back(std::exp(logit - largest));
  for (double& probability : result) probability /= sum;
  return result;
}

double probability_of(std::span<const TokenProbability> distribution, TokenId id) {
  const auto found = std::find_if(distribution.begin(), distribution.end(), [&](const auto& e) { return e.id == id; });
  return found == distribution.end() ? 0.0 : found->probability;
}

}  // namespace

TokenExplanation TokenChoice::explain(const DecodingStep& step, std::span<const TokenProbability> distribution,
                                      TokenId chosen) const {
  const auto word = [&](TokenId id) { return id == Vocabulary::kEos ? "<eos>" : step.model.vocabulary().word(id); };
  const std::vector<double> model = softmax(model_);
  const std::vector<double> grammar = softmax(allowed_);
  const std::vector<double> ruled = softmax(ruled_);
  const auto index = static_cast<std::size_t>(chosen);

  TokenExplanation result;
  for (const auto& [id, probability] : sampling_distribution(model_, {.top_k = kChoicesShown})) {
    result.model_choices.push_back({word(id), model[static_cast<std::size_t>(id)]});
  }
  for (const auto& [id, probability] : distribution.first(std::min(kChoicesShown, distribution.size()))) {
    result.final_choices.push_back({word(id), probability});
  }
  result.sampler = probability_of(distribution, chosen);
  result.model = model[index];
  result.grammar = grammar[index];
  result.controls = from_mixture_ ? result.sampler : ruled[index];
  for (std::size_t id = 0; id < model.size(); ++id) {
    if (allowed_[id] == -INFINITY) {
      result.removed_by_grammar += model[id];
    } else if (ruled_[id] == -INFINITY) {
      result.removed_by_controls += model[id];
    } else if (!from_mixture_ && probability_of(distribution, static_cast<TokenId>(id)) == 0.0) {
      result.removed_by_sampler += ruled[id];
    }
  }
  return result;
}

}  // namespace semfuse
