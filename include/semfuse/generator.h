// Generates sentences: rules change the logits, a sampler draws from them, a grammar keeps the text in its language.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/grammar.h"
#include "semfuse/language_model.h"

namespace semfuse {

// Which tokens a nucleus of mass p keeps, most probable first.
enum class Nucleus {
  usual,  // As few as reach p: the token that crosses p stays.
  paper   // Those whose cumulative probability is at most p, and always the first: the token that crosses p goes.
};

struct SamplingOptions {
  double temperature = 1.0;          // Logits are divided by it; 0 is greedy.
  std::size_t top_k = 0;             // Keep the k most probable tokens; 0: all.
  double top_p = 1.0;                // Mass of the nucleus, in (0, 1].
  Nucleus nucleus = Nucleus::usual;  // How the nucleus is read.
  bool greedy = false;               // Take the most probable token; the smallest id of equals.
};

struct RepetitionOptions {
  double penalty = 1.0;    // ln(penalty) is taken off the logits of recent tokens; at least 1; 1: none.
  std::size_t last_k = 3;  // How many tokens are recent.
  double punctuation_penalty =
      1.8;  // As much again for the last token if it is a punctuation mark; unused without penalty.
};

// How adjectives of a hard request are drawn: q = (1 - alpha) · softmax(logits / temperature) + alpha · uniform, over
// the class; then the nucleus of mass top_p.
struct ClassMixture {
  double alpha = 0.0;
  double temperature = 1.0;
  double top_p = 1.0;
};

// The paper's controls, each in [0, 1]. They act on the logits where the grammar leaves a choice of intensifiers, of
// adjectives or of final marks; the model does not read them.
struct ControlOptions {
  double pos_high = 0.0;
  double neg_high = 0.0;
  double str_high = 0.0;
  double str_med = 0.0;
  double is_question = 0.0;
  double hard_above = 0.6;  // Above this a request is hard: other adjectives, other marks are ruled out.
  bool soft_only = false;   // No request is hard.
  ClassMixture positive = {.alpha = 0.97, .temperature = 1.5, .top_p = 1.0};
  ClassMixture negative = {.alpha = 0.85, .temperature = 1.3, .top_p = 0.95};

  double polarity() const { return pos_high - neg_high; }
  bool active() const { return pos_high > 0 || neg_high > 0 || str_high > 0 || str_med > 0 || is_question > 0; }
};

// Names of the controls: "pos_high", ...
const std::vector<std::string>& control_names();
// Sets a control from "pos_high=0.95". Throws Error for an unknown name or a value outside [0, 1].
void set_control(ControlOptions& controls, std::string_view assignment);

// Settings of one of the paper's tables; all of them decode in the grammar "one-clause".
struct GenerationPreset {
  std::string name;
  SamplingOptions sampling;
  RepetitionOptions repetition;
  ControlOptions controls;
};

const std::vector<GenerationPreset>& generation_presets();
// Throws Error that lists the presets if there is none of that name.
const GenerationPreset& generation_preset(std::string_view name);

// Where a token is about to stand.
struct DecodingStep {
  const LanguageModel& model;
  std::span<const TokenId> tokens;  // <bos> and what follows, the prompt included.
  const TokenSet* allowed;          // What the grammar allows; null without a grammar.
  std::optional<WordClass>
      slot;  // The class of the allowed words, if they have one class (words of class `other` apart).
};

// Changes logits before sampling; -infinity rules a token out. Must not depend on anything but its arguments and what
// it was constructed with, or the same seed no longer gives the same text. Called from several threads at once.
class LogitRule {
 public:
  virtual ~LogitRule() = default;
  virtual std::string_view name() const = 0;
  virtual void apply(const DecodingStep& step, std::span<double> logits) const = 0;
};

struct GenerationRequest {
  std::string prompt;                              // The text begins with it; read through the grammar.
  std::shared_ptr<const CompiledGrammar> grammar;  // Null: any words. Compiled for the model's vocabulary.
  SamplingOptions sampling;
  RepetitionOptions repetition;
  ControlOptions controls;         // They need a grammar.
  std::vector<KnobSetting> knobs;  // What the model is asked for; it reads them itself. Rules of the grammar may carry
                                   // settings of their own, which go before these where they hold.
  // How far past the setting: logits are l0 + guidance · (l1 - l0), with l1 as asked and l0 with nothing asked. 1: as
  // calibrated, 0: as if nothing were set. Above 1 it lifts no token below a tenth of the most probable one.
  double guidance = 1.0;
  std::vector<std::shared_ptr<const LogitRule>> rules;  // More rules, after the grammar and the controls.
  std::size_t max_tokens = 64;                          // Most tokens of the text, the prompt included, <eos> not.
  std::uint64_t seed = 1;
  std::uint64_t index = 0;  // Sentence of the seed: (seed, index) decides every draw.
  bool explain = false;     // Fill GeneratedToken::explanation.
};

// What the settings of a grammar's rules ask a model for, in the order of Grammar::settings(). Throws Error that begins
// with the place for a knob that the model lacks or a value that it does not take.
std::vector<KnobSetting> rule_settings(const Grammar& grammar, std::span<const Knob> knobs);

// What became of the chosen token's probability, and what stood beside it.
struct TokenExplanation {
  struct Choice {
    std::string word;
    double probability;
  };
  std::vector<Choice> model_choices;  // What the model alone would have said, most probable first; at most three.
  std::vector<Choice> final_choices;  // What could have been drawn instead, most probable first; at most three.
  double model = 0.0;                 // Probability of the chosen token: the model alone,
  double grammar = 0.0;               // among the tokens that the grammar allows,
  double controls = 0.0;              // after controls, repetition penalty and rules,
  double sampler = 0.0;               // after temperature, top-k and nucleus: what it was drawn with.
  double removed_by_grammar = 0.0;    // Probability that the model alone gave to tokens that the grammar forbids,
  double removed_by_controls = 0.0;   // to allowed tokens that hard controls and rules ruled out,
  double removed_by_sampler = 0.0;    // and that top-k and nucleus cut off what was left.
  std::vector<std::string> settings;  // Of rules of the grammar that held here: "polarity=0.9".
};

struct GeneratedToken {
  TokenId id = Vocabulary::kEos;
  std::string word;
  double log_probability = 0.0;   // Of the distribution that it was drawn from; 0 for a forced token.
  bool forced = false;            // The grammar allowed nothing else.
  std::optional<WordClass> slot;  // As in DecodingStep.
  std::optional<TokenExplanation> explanation;
};

struct Generation {
  enum class Finish { ended, out_of_tokens, stopped };  // stopped: by the callback
  enum class GrammarState { none, complete, incomplete };

  std::string text;                    // Words joined as English does, the prompt included.
  std::size_t prompt_tokens = 0;       // Words of the prompt.
  std::vector<std::string> words;      // All words, the prompt included.
  std::vector<GeneratedToken> tokens;  // Those after the prompt, the final <eos> included.
  Finish finish = Finish::ended;
  GrammarState grammar = GrammarState::none;
  std::vector<std::string> expected;  // What the grammar would still allow, if it is incomplete.
  bool unmet_controls = false;        // A hard request found nothing of what it asks for in its slot.
};

// Called after every token with the request's place in the batch; returns false to stop that sentence. From several
// threads at once, but for one sentence in order.
using TokenCallback = std::function<bool(std::size_t request, const GeneratedToken& token)>;

// Immutable; may be used from several threads at once.
class Generator {
 public:
  // `model` must outlive the generator and keep its weights.
  explicit Generator(const LanguageModel& model, std::size_t threads = 1);
  ~Generator();
  Generator(Generator&&) noexcept;

  // Throws Error for a prompt that has unknown words or leaves the grammar (with the position and what could stand
  // there), for options out of range, and if the vocabulary cannot complete the text.
  Generation generate(const GenerationRequest& request, const TokenCallback& on_token = {}) const;

  // All at once. The same sentences as one by one, for any number of threads.
  std::vector<Generation> generate(std::span<const GenerationRequest> requests,
                                   const TokenCallback& on_token = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A token and its probability.
struct TokenProbability {
  TokenId id;
  double probability;
};

// The distribution that a sampler draws from: softmax of the logits that are not -infinity after temperature, top-k and
// nucleus, by descending probability, equals by id. Empty if every logit is -infinity.
std::vector<TokenProbability> sampling_distribution(std::span<const double> logits, const SamplingOptions& options);
// The distribution of a class mixture over `tokens`, in the same order.
std::vector<TokenProbability> mixture_distribution(std::span<const double> logits, std::span<const TokenId> tokens,
                                                   const ClassMixture& mixture, Nucleus nucleus);
// The token at which the cumulative probability passes `uniform` in [0, 1), tokens taken by id: so the same number
// gives the same token from a similar distribution, whatever the order of its probabilities.
TokenId draw(std::span<const TokenProbability> distribution, double uniform);

}  // namespace semfuse
