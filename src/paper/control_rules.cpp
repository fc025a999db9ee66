#include "paper/control_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "generation/sampler.h"
#include "generation/word_slot.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

// The paper's strengths of steering.
constexpr double kIntensifierShift = 1.2;
constexpr double kWantedAdjectiveShift = 6.0;
constexpr double kOtherAdjectiveShift = -3.0;
constexpr double kMarkShift = 2.8;

void check(const ControlOptions& controls) {
  const auto require = [](bool good, std::string_view rule) {
    if (!good) throw Error(fmt::format("generation: {}", rule));
  };
  for (const ClassMixture* mixture : {&controls.positive, &controls.negative}) {
    require(mixture->alpha >= 0.0 && mixture->alpha <= 1.0, "the mixture's alpha must be from 0 to 1");
    require(mixture->temperature > 0.0 && std::isfinite(mixture->temperature),
            "the mixture's temperature must be above 0");
    require(mixture->top_p > 0.0 && mixture->top_p <= 1.0, "the mixture's top-p must be above 0 and at most 1");
  }
  for (const double value :
       {controls.pos_high, controls.neg_high, controls.str_high, controls.str_med, controls.is_question}) {
    require(value >= 0.0 && value <= 1.0, "a control must be from 0 to 1");
  }
}

}  // namespace

ControlWords::ControlWords(const Vocabulary& vocabulary, const Lexicon& lexicon)
    : classes_(word_classes(vocabulary, lexicon)), class_names_(lexicon.class_names()) {
  for (const std::string& word : vocabulary.entries()) {
    const LexiconEntry* entry = lexicon.find(word);
    entries_.push_back(entry == nullptr ? LexiconEntry{} : *entry);
  }
}

std::string_view ControlWords::slot(const DecodingStep& step) const {
  if (step.allowed == nullptr) {
    throw Error(
        "generation: controls act where a grammar leaves a choice of adjectives, intensifiers or marks; give a "
        "grammar");
  }
  const std::size_t slot = slot_of(*step.allowed, classes_);
  return slot == Lexicon::kOtherClass ? std::string_view() : class_names_[slot];
}

RuleOutcome SteeringRule::apply(const DecodingStep& step, std::span<double> logits) const {
  const std::string_view slot = words_->slot(step);
  if (slot.empty()) return {};
  const double polarity = controls_.polarity();
  const double strength = std::max(controls_.str_high, controls_.str_med);
  words_->for_each(logits, slot, [&](std::size_t id, const LexiconEntry& entry) {
    double& logit = logits[id];
    if (entry.word_class == WordClass::kIntensifier) {
      if (controls_.active()) logit += kIntensifierShift * (0.5 + strength);
    } else if (entry.word_class == WordClass::kAdjective) {
      if (entry.polarity != 0.0) {
        const bool wanted = entry.polarity * polarity > 0.0;
        logit += std::abs(polarity) * (wanted ? kWantedAdjectiveShift : kOtherAdjectiveShift);
      }
    } else if (entry.word_class == WordClass::kPunctuation) {
      if (entry.word == "!") logit += kMarkShift * strength * std::max(0.0, polarity);
      if (entry.word == "?") logit += kMarkShift * controls_.is_question;
    }
  });
  return {};
}

bool HardRequestRule::is_hard(std::string_view slot) const {
  if (controls_.soft_only) return false;
  if (slot == WordClass::kAdjective) return std::abs(controls_.polarity()) > controls_.hard_above;
  if (slot != WordClass::kPunctuation) return false;
  return controls_.is_question > controls_.hard_above ||
         (controls_.polarity() > controls_.hard_above && controls_.str_high > controls_.hard_above);
}

bool HardRequestRule::wants(const LexiconEntry& entry) const {
  if (entry.word_class == WordClass::kAdjective) return entry.polarity * controls_.polarity() > 0.0;
  return entry.word == (controls_.is_question > controls_.hard_above ? "?" : "!");
}

RuleOutcome HardRequestRule::apply(const DecodingStep& step, std::span<double> logits) const {
  const std::string_view slot = words_->slot(step);
  if (!is_hard(slot)) return {};
  bool any = false;
  bool only_commas = true;  // A comma is no final mark: nothing is asked of it.
  std::size_t in_slot = 0;
  words_->for_each(logits, slot, [&](std::size_t, const LexiconEntry& entry) {
    any = any || wants(entry);
    only_commas = only_commas && entry.word == ",";
    ++in_slot;
  });
  if (!any) return {.unmet = !only_commas};
  const auto possible = std::ranges::count_if(logits, [](double logit) { return logit != -INFINITY; });
  words_->for_each(logits, slot, [&](std::size_t id, const LexiconEntry& entry) {
    if (!wants(entry)) logits[id] = -INFINITY;
  });
  if (slot != WordClass::kAdjective || in_slot != static_cast<std::size_t>(possible)) return {};
  mix(logits);
  return {.final = true};
}

// Adjectives of a hard request come from the class mixture.
void HardRequestRule::mix(std::span<double> logits) const {
  std::vector<TokenId> tokens;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (logits[id] != -INFINITY) tokens.push_back(static_cast<TokenId>(id));
  }
  const ClassMixture& mixture = controls_.polarity() > 0.0 ? controls_.positive : controls_.negative;
  std::vector<TokenProbability> distribution = mixture_distribution(logits, tokens, mixture, sampling_.nucleus);
  if (sampling_.temperature == 0.0) distribution = {{distribution.front().id, 1.0}};
  std::ranges::fill(logits, -INFINITY);
  for (const auto& [id, probability] : distribution) logits[static_cast<std::size_t>(id)] = std::log(probability);
}

std::vector<TokenProbability> mixture_distribution(std::span<const double> logits, std::span<const TokenId> tokens,
                                                   const ClassMixture& mixture, Nucleus nucleus) {
  std::vector<double> of_class(logits.size(), -INFINITY);
  for (const TokenId id : tokens) of_class[static_cast<std::size_t>(id)] = logits[static_cast<std::size_t>(id)];
  std::vector<TokenProbability> result = sampling_distribution(of_class, {.temperature = mixture.temperature});
  for (TokenProbability& entry : result) {
    entry.probability = (1.0 - mixture.alpha) * entry.probability + mixture.alpha / static_cast<double>(result.size());
  }
  std::ranges::sort(result, is_more_probable);
  keep_nucleus(result, mixture.top_p, nucleus);
  return result;
}

std::vector<std::shared_ptr<const LogitRule>> control_rules(const ControlOptions& controls,
                                                            const SamplingOptions& sampling,
                                                            const LanguageModel& model) {
  check(controls);
  if (!controls.active()) return {};
  const auto words = std::make_shared<const ControlWords>(model.vocabulary(), model.feature_bank().lexicon());
  return {std::make_shared<HardRequestRule>(controls, sampling, words),
          std::make_shared<SteeringRule>(controls, words)};
}

GenerationRequest request_of(const GenerationPreset& preset, const LanguageModel& model,
                             std::shared_ptr<const CompiledGrammar> grammar) {
  return {.grammar = std::move(grammar),
          .sampling = preset.sampling,
          .repetition = preset.repetition,
          .rules = control_rules(preset.controls, preset.sampling, model)};
}

}  // namespace semfuse
