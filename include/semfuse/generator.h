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

// How a token is drawn. As it stands: from the model's own distribution.
struct SamplingOptions {
  // Logits are divided by it. Lower it for likelier, more uniform sentences, raise it for variety at the price of
  // mistakes; 0 takes the most probable token, the smallest id of equals.
  double temperature = 1.0;
  // Keep the k most probable tokens; 0: all. For models whose improbable words are noise.
  std::size_t top_k = 0;
  // Mass of the nucleus, in (0, 1]. As top_k, but keeps more words where the model is in doubt; 0.9 to 0.95 is usual.
  double top_p = 1.0;
  // How the nucleus is read; change it only to repeat the paper's numbers.
  Nucleus nucleus = Nucleus::usual;
};

// For models that say the same word again and again.
struct RepetitionOptions {
  double penalty = 1.0;              // ln(penalty) is taken off the logits of recent tokens; at least 1; 1: none.
  std::size_t last_k = 3;            // How many tokens are recent.
  double punctuation_penalty = 1.8;  // As much again for a last token that is a punctuation mark; needs a penalty.
};

// Where a token is about to stand.
struct DecodingStep {
  const Vocabulary& vocabulary;
  std::span<const TokenId> tokens;  // <bos> and what follows, the prompt included.
  const TokenSet* allowed;          // What the grammar allows; null without a grammar.
};

// What a rule says of what it did.
struct RuleOutcome {
  // The logits are logarithms of the probabilities to draw from, and drawn from as they are: without later rules,
  // repetition penalty, temperature, top-k and nucleus.
  bool final = false;
  // Nothing of what the rule asks for may stand here, so it did nothing.
  bool unmet = false;
};

// Changes logits before sampling; -infinity rules a token out. Must not depend on anything but its arguments and what
// it was constructed with, or the same seed no longer gives the same text. Called from several threads at once. A
// logit that is not a number is an Error that says the rule's name; what the grammar forbids, no rule brings back.
class LogitRule {
 public:
  virtual ~LogitRule() = default;
  virtual std::string_view name() const = 0;
  virtual RuleOutcome apply(const DecodingStep& step, std::span<double> logits) const = 0;
};

// How far past its setting one knob is turned, as GenerationRequest::guidance says of all.
struct KnobGuidance {
  std::string knob;
  double weight = 1.0;
  bool operator==(const KnobGuidance&) const = default;
};

class LogitSource;  // A method of steering: see steering.h.

struct GenerationRequest {
  std::string prompt;                              // The text begins with it; read through the grammar.
  std::vector<TokenId> prompt_ids = {};            // The same as tokens; goes before `prompt` if there are any.
  std::shared_ptr<const CompiledGrammar> grammar;  // Null: any words. See Generator::compile().
  SamplingOptions sampling;
  RepetitionOptions repetition;
  std::vector<KnobSetting> knobs;  // What the model is asked for; it reads them itself. Rules of the grammar may carry
                                   // settings of their own, which go before these where they hold.
  // How far past the setting, 0 to 20: p0 · (p1 / p0)^guidance, with p1 as asked and p0 with nothing asked. 1: as
  // calibrated, 0: as if nothing were set. Raise it where a setting must hold for nearly every word; it costs variety.
  double guidance = 1.0;
  // Settings become what the model's map of a knob says (semfuse/calibration.h), and guidance that of the map times the
  // one above. False: the model is asked for them as they stand.
  bool calibrated = true;
  // Knobs that the model has heads for (LanguageModel::heads()) are turned by these: what a map of such a knob says is
  // target and strength then, and guidance raises the strength. False: the model is asked for them as for the others,
  // and their maps do not count, as where another source steers.
  bool heads = true;
  // Knobs with a weight of their own, which goes before `guidance`: p · Π (p_k / p0)^(w_k - 1), with p as asked for all
  // and p_k for those of one weight alone. Costs one reading more, and one for each different weight but 1.
  std::vector<KnobGuidance> knob_guidance = {};
  // What the logits are made of, instead of the model as asked with guidance. Null: that.
  std::shared_ptr<const LogitSource> source;
  // In this order, on what the grammar allows; the repetition penalty comes after them.
  std::vector<std::shared_ptr<const LogitRule>> rules;
  // Most tokens of the text, the prompt included, <eos> not. With a grammar the sentence is closed in time: near the
  // budget only those words are allowed from which its end can be reached. Where that is not possible (the shortest
  // sentence is longer), or cannot be told, the text stops in the middle: Generation::grammar says so.
  std::size_t max_tokens = 64;
  std::uint64_t seed = 1;
  std::uint64_t index = 0;  // Sentence of the seed: (seed, index) decides every draw.
  bool explain = false;     // Fill GeneratedToken::explanation,
  std::size_t choices = 3;  // with at most so many model_choices and final_choices.
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
  std::vector<Choice> model_choices;  // What the model alone would have said, most probable first.
  std::vector<Choice> final_choices;  // What could have been drawn instead, most probable first.
  // Of the chosen token, by the model as it was asked, where guidance or a LogitSource then steered it. Its choices are
  // those above.
  std::optional<double> unsteered;
  double model = 0.0;                 // Probability of the chosen token: the model alone, or steered,
  double grammar = 0.0;               // among the tokens that the grammar allows,
  double rules = 0.0;                 // after rules and repetition penalty,
  double sampler = 0.0;               // after temperature, top-k and nucleus: what it was drawn with.
  double removed_by_grammar = 0.0;    // Probability that the model alone gave to tokens that the grammar forbids,
  double removed_by_rules = 0.0;      // to allowed tokens that rules ruled out,
  double removed_by_sampler = 0.0;    // and that top-k and nucleus cut off what was left.
  std::vector<std::string> settings;  // Of rules of the grammar that held here: "polarity=0.9".
  std::string slot;  // The class of the allowed words, if they have one (words of class `other` apart); else empty.
};

struct GeneratedToken {
  TokenId id = Vocabulary::kEos;
  std::string word;
  double log_probability = 0.0;  // Of the distribution that it was drawn from; 0 for a forced token.
  bool forced = false;           // The grammar allowed nothing else.
  std::optional<TokenExplanation> explanation;
};

struct Generation {
  enum class Finish { ended, out_of_tokens, stopped, failed };  // stopped: by the callback
  enum class GrammarState { none, complete, incomplete };

  std::string text;                    // What LanguageModel::decode() makes of the tokens, the prompt included.
  std::size_t prompt_tokens = 0;       // Tokens of the prompt.
  std::vector<std::string> words;      // All tokens as text, the prompt included; with a tokenizer any bytes.
  std::vector<GeneratedToken> tokens;  // Those after the prompt, the final <eos> included.
  Finish finish = Finish::ended;
  GrammarState grammar = GrammarState::none;
  std::vector<std::string> expected;  // What the grammar would still allow, if it is incomplete.
  std::vector<std::string> unmet;     // Names of rules that somewhere found nothing of what they ask for.
  std::optional<std::string> error;   // Why it failed, in one line; the rest then holds how far it came.
};

// Called after every token with the request's place in the batch; returns false to stop that sentence. From several
// threads at once, but for one sentence in order.
using TokenCallback = std::function<bool(std::size_t request, const GeneratedToken& token)>;

// Immutable; may be used from several threads at once.
class Generator {
 public:
  // `model` must outlive the generator and keep its weights.
  explicit Generator(const LanguageModel& model, std::size_t threads = 1);
  explicit Generator(const LanguageModel&& model, std::size_t threads = 1) = delete;  // It would be gone at once.
  ~Generator();
  Generator(Generator&&) noexcept;

  // The grammar for this model's vocabulary, to be used in any number of requests. Throws Error if the vocabulary
  // cannot complete any sentence of it, or if rules of the grammar have settings that the model does not take.
  std::shared_ptr<const CompiledGrammar> compile(const Grammar& grammar) const;

  // Throws Error for a prompt that has unknown words or leaves the grammar (with the position and what could stand
  // there), for options out of range, for a grammar that was compiled for another vocabulary, and if the vocabulary
  // cannot complete the text.
  Generation generate(const GenerationRequest& request, const TokenCallback& on_token = {}) const;

  // All at once. The same sentences as one by one, for any number of threads. What would throw Error for one request
  // makes that one fail, see Generation::error; the other sentences arrive. What `on_token` throws ends them all.
  std::vector<Generation> generate(std::span<const GenerationRequest> requests,
                                   const TokenCallback& on_token = {}) const;

 private:
  friend class GenerationSession;
  struct State;
  std::unique_ptr<State> state_;
};

// How the tokens of a model look in text: what its grammars are compiled for.
TokenSurfaces token_surfaces(const LanguageModel& model);

// A token and its probability.
struct TokenProbability {
  TokenId id;
  double probability;
};

// The distribution that a sampler draws from: softmax of the logits that are not -infinity after temperature, top-k and
// nucleus, by descending probability, equals by id. Empty if every logit is -infinity.
std::vector<TokenProbability> sampling_distribution(std::span<const double> logits, const SamplingOptions& options);
// The token at which the cumulative probability passes `uniform` in [0, 1), tokens taken by id: so the same number
// gives the same token from a similar distribution, whatever the order of its probabilities.
TokenId draw(std::span<const TokenProbability> distribution, double uniform);

}  // namespace semfuse
