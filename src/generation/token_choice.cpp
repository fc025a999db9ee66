#include "generation/token_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "generation/sampler.h"
#include "kernels/reductions.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr const char* kNothingLeft = "the rules leave no token to choose from; loosen them or the grammar";

void require_finite(std::span<const float> logits) {
  if (all_finite(logits.data(), logits.size())) return;
  throw Error("the model's logits are not finite; its weights are damaged, train it again");
}

}  // namespace

TokenChoice::TokenChoice(const GenerationRequest& request, std::span<const std::size_t> classes) : request_(request) {
  if (request.repetition.penalty != 1.0) repetition_.emplace(request.repetition, classes);
}

void TokenChoice::apply_rules(const DecodingStep& step, std::span<const float> logits) {
  require_finite(logits);
  model_.assign(logits.begin(), logits.end());
  model_[Vocabulary::kPad] = model_[Vocabulary::kBos] = -INFINITY;
  allowed_ = model_;
  if (step.allowed != nullptr) {
    for (std::size_t id = 0; id < allowed_.size(); ++id) {
      if (!step.allowed->contains(static_cast<TokenId>(id))) allowed_[id] = -INFINITY;
    }
  }
  ruled_ = allowed_;
  final_ = false;
  for (const auto& rule : request_.rules) {
    const RuleOutcome outcome = apply_rule(*rule, step);
    if (outcome.unmet) unmet_.emplace(rule->name());
    final_ = outcome.final;
    if (final_) return;
  }
  if (repetition_) repetition_->apply(step, ruled_);
}

RuleOutcome TokenChoice::apply_rule(const LogitRule& rule, const DecodingStep& step) {
  const RuleOutcome outcome = rule.apply(step, ruled_);
  bool any = false;
  for (std::size_t id = 0; id < ruled_.size(); ++id) {
    if (std::isnan(ruled_[id]) || ruled_[id] == INFINITY) {
      throw Error(
          fmt::format("the rule \"{}\" wrote a logit that is not a number or +infinity; mend the rule", rule.name()));
    }
    if (allowed_[id] == -INFINITY) ruled_[id] = -INFINITY;  // A rule brings back nothing that the grammar forbids.
    any = any || ruled_[id] != -INFINITY;
  }
  if (!any) {
    throw Error(fmt::format("the rule \"{}\" leaves no token to choose from; loosen it or the grammar", rule.name()));
  }
  return outcome;
}

std::vector<TokenProbability> TokenChoice::final_distribution() const {
  std::vector<TokenProbability> result;
  for (std::size_t id = 0; id < ruled_.size(); ++id) {
    if (ruled_[id] != -INFINITY) result.push_back({static_cast<TokenId>(id), std::exp(ruled_[id])});
  }
  std::ranges::sort(result, is_more_probable);
  return result;
}

double TokenChoice::log_probability(const TokenProbability& drawn) const {
  return final_ ? ruled_[static_cast<std::size_t>(drawn.id)] : std::log(drawn.probability);
}

std::vector<TokenProbability> TokenChoice::distribution(const DecodingStep& step, std::span<const float> logits,
                                                        const TokenCells* cells) {
  apply_rules(step, logits);
  if (final_) return final_distribution();
  std::vector<TokenProbability> result;
  if (cells != nullptr && changes_shares(request_.sampling)) {
    result = share_keeping_distribution(ruled_, request_.sampling, *cells);
    std::ranges::sort(result, is_more_probable);
  } else {
    result = sampling_distribution(ruled_, request_.sampling);
  }
  if (result.empty() ||
      std::any_of(result.begin(), result.end(), [](const auto& e) { return std::isnan(e.probability); })) {
    throw Error(kNothingLeft);
  }
  return result;
}

bool TokenChoice::draws_from_logits(std::size_t vocab_size, const TokenCells* cells) const {
  return vocab_size >= LargeDraw::kLeast && request_.rules.empty() && !repetition_ && !is_greedy(request_.sampling) &&
         (cells == nullptr || !changes_shares(request_.sampling));
}

TokenProbability TokenChoice::draw(const DecodingStep& step, std::span<const float> logits, double uniform,
                                   const TokenCells* cells) {
  if (draws_from_logits(logits.size(), cells)) {
    require_finite(logits);
    final_ = false;
    const std::optional<TokenProbability> token = large_draw_.draw(logits, step.allowed, request_.sampling, uniform);
    if (!token) throw Error(kNothingLeft);
    return *token;
  }
  apply_rules(step, logits);
  if (final_) return drawn_from(final_distribution(), uniform);
  if (cells != nullptr && changes_shares(request_.sampling)) {
    const auto distribution = share_keeping_distribution(ruled_, request_.sampling, *cells);
    if (distribution.empty()) throw Error(kNothingLeft);
    return drawn_by_id(distribution, uniform);
  }
  const std::optional<TokenProbability> token = sample(ruled_, request_.sampling, uniform);
  if (!token) throw Error(kNothingLeft);
  return *token;
}

namespace {

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
                                      TokenId chosen, std::span<const float> unsteered) const {
  const auto word = [&](TokenId id) { return id == Vocabulary::kEos ? "<eos>" : step.vocabulary.word(id); };
  const std::vector<double> model = softmax(model_);
  const std::vector<double> grammar = softmax(allowed_);
  const std::vector<double> ruled = softmax(ruled_);
  const auto index = static_cast<std::size_t>(chosen);

  TokenExplanation result;
  std::vector<double> alone_logits = model_;
  std::vector<double> alone = model;
  if (!unsteered.empty()) {
    alone_logits.assign(unsteered.begin(), unsteered.end());
    alone_logits[Vocabulary::kPad] = alone_logits[Vocabulary::kBos] = -INFINITY;
    alone = softmax(alone_logits);
    result.unsteered = alone[index];
  }
  for (const auto& [id, probability] : sampling_distribution(alone_logits, {.top_k = request_.choices})) {
    result.model_choices.push_back({word(id), alone[static_cast<std::size_t>(id)]});
  }
  for (const auto& [id, probability] : distribution.first(std::min(request_.choices, distribution.size()))) {
    result.final_choices.push_back({word(id), probability});
  }
  result.sampler = probability_of(distribution, chosen);
  result.model = model[index];
  result.grammar = grammar[index];
  result.rules = ruled[index];
  for (std::size_t id = 0; id < model.size(); ++id) {
    if (allowed_[id] == -INFINITY) {
      result.removed_by_grammar += model[id];
    } else if (ruled_[id] == -INFINITY) {
      result.removed_by_rules += model[id];
    } else if (probability_of(distribution, static_cast<TokenId>(id)) == 0.0) {
      result.removed_by_sampler += ruled[id];
    }
  }
  return result;
}

}  // namespace semfuse
