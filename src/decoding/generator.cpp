#include "semfuse/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include "core/nearest_word.h"
#include "core/random.h"
#include "core/thread_pool.h"
#include "decoding/logit_memory.h"
#include "decoding/request_rows.h"
#include "decoding/sampler.h"
#include "decoding/token_choice.h"
#include "io/quoted_text.h"
#include "model/incremental_pass.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr double kMostGuidance = 1000.0;
constexpr std::size_t kCheapRows = 4;  // Rows of a pass that cost little more than one.
constexpr std::size_t kStreamBytes = std::size_t{8}
                                     << 20;  // Of keys and values that a sentence keeps for its requests.
constexpr std::size_t kStreams = 64;         // Sentences that one thread works on at a time.
constexpr std::size_t kPrefixBytes = std::size_t{32} << 20;  // What a thread keeps of beginnings.

// The logits after a token must be the same whatever follows it.
bool guessing_helps(const LanguageModel& model) {
  return model.options().attention == AttentionMask::causal &&
         (!model.options().fusion || model.feature_bank().options().bank == FeatureSet::semfuse) &&
         model.vocabulary().size() <= LogitMemory::kLargestVocabulary;
}

// Streams with their memory, for one sentence after the other.
class StreamPool {
 public:
  explicit StreamPool(const Network& network) : network_(network) {}

  std::unique_ptr<TokenStream> take() {
    if (idle_.empty()) return std::make_unique<TokenStream>(network_);
    std::unique_ptr<TokenStream> stream = std::move(idle_.back());
    idle_.pop_back();
    stream->clear();
    return stream;
  }
  void give_back(std::unique_ptr<TokenStream> stream) { idle_.push_back(std::move(stream)); }

 private:
  const Network& network_;
  std::vector<std::unique_ptr<TokenStream>> idle_;
};

// What a thread needs to work on its streams; kept from one call to the next.
struct Worker {
  Worker(const LanguageModel& model, const PackedWeights& packed)
      : pass(model.network(), model.weights(), packed, kPrefixBytes),
        memory(model.vocabulary().size()),
        streams(model.network()) {}

  IncrementalPass pass;
  LogitMemory memory;
  StreamPool streams;
};

}  // namespace

struct Generator::State {
  State(const LanguageModel& language_model, std::size_t num_threads)
      : model(language_model),
        threads(num_threads),
        packed(model.network().layout(), model.network().linears()),
        classes(word_classes(model)),
        may_guess(guessing_helps(model)) {
    ThreadPool pool(1);
    packed.refresh(model.weights(), pool);
  }

  const LanguageModel& model;
  std::size_t threads;
  PackedWeights packed;
  std::vector<std::optional<WordClass>> classes;
  bool may_guess;

  std::unique_ptr<Worker> take_worker() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return std::make_unique<Worker>(model, packed);
    std::unique_ptr<Worker> worker = std::move(idle.back());
    idle.pop_back();
    return worker;
  }
  void give_back(std::unique_ptr<Worker> worker) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(worker));
  }

 private:
  std::mutex mutex;
  std::vector<std::unique_ptr<Worker>> idle;
};

namespace {

void check(const GenerationRequest& request) {
  const auto require = [](bool good, std::string_view rule) {
    if (!good) throw Error(fmt::format("generation: {}", rule));
  };
  const auto probability = [](double x) { return x > 0.0 && x <= 1.0; };
  const SamplingOptions& sampling = request.sampling;
  require(sampling.temperature >= 0.0 && std::isfinite(sampling.temperature), "temperature must be 0 or above");
  require(probability(sampling.top_p), "top-p must be above 0 and at most 1");
  require(request.repetition.penalty >= 1.0 && std::isfinite(request.repetition.penalty),
          "repetition penalty must be 1 or above");
  require(request.repetition.punctuation_penalty >= 1.0 && std::isfinite(request.repetition.punctuation_penalty),
          "punctuation penalty must be 1 or above");
  require(request.max_tokens > 0, "max-tokens must be above 0");
  for (const ClassMixture* mixture : {&request.controls.positive, &request.controls.negative}) {
    require(mixture->alpha >= 0.0 && mixture->alpha <= 1.0, "the mixture's alpha must be from 0 to 1");
    require(mixture->temperature > 0.0 && std::isfinite(mixture->temperature),
            "the mixture's temperature must be above 0");
    require(probability(mixture->top_p), "the mixture's top-p must be above 0 and at most 1");
  }
  const ControlOptions& controls = request.controls;
  for (const double value :
       {controls.pos_high, controls.neg_high, controls.str_high, controls.str_med, controls.is_question}) {
    require(value >= 0.0 && value <= 1.0, "a control must be from 0 to 1");
  }
  require(std::abs(request.guidance) <= kMostGuidance, "guidance must be from -1000 to 1000");
  require(!controls.active() || request.grammar,
          "controls act where a grammar leaves a choice of adjectives, intensifiers or marks; give a grammar");
}

// A sentence in the making.
class Draft {
 public:
  Draft(const LanguageModel& model, std::span<const std::optional<WordClass>> classes, const GenerationRequest& request,
        StreamPool& pool)
      : model_(model),
        classes_(classes),
        request_(request),
        choice_(request),
        guessing_(request),
        pool_(pool),
        asked_rows_(model.options().knobs, request) {
    check(request);
    if (request.grammar) cursor_ = request.grammar->begin();
    read_prompt();
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    for (std::unique_ptr<TokenStream>& stream : streams_) pool_.give_back(std::move(stream));
  }

  // Streams for the coming pass. Must follow prepare().
  void add_streams(std::vector<TokenStream*>& streams) const {
    streams.push_back(stream_);
    if (unasked_ != nullptr) streams.push_back(unasked_);
  }
  // Rows of logits that the pass gives for them.
  std::size_t num_rows() const { return stream_->num_guesses + 1 + (unasked_ != nullptr ? 1 : 0); }
  Generation take() { return std::move(result_); }

  // Appends what needs no logits. True if the sentence then waits for them, false if it is finished.
  bool prepare(const std::function<bool(const GeneratedToken&)>& on_token) {
    while (!finished_) {
      if (result_.words.size() >= request_.max_tokens && !(cursor_ && cursor_->forced() == Vocabulary::kEos)) {
        result_.finish = Generation::Finish::out_of_tokens;
        break;
      }
      const std::optional<TokenId> forced = cursor_ ? cursor_->forced() : std::nullopt;
      if (!forced || request_.explain) {
        choose_streams();
        return true;
      }
      append({.id = *forced, .log_probability = 0.0, .forced = true, .slot = slot()}, on_token);
    }
    finish();
    return false;
  }

  // Lets the coming pass compute a few tokens more, which may turn out to be the next ones. Must follow prepare().
  void guess(const LogitMemory& memory) {
    if (unasked_ != nullptr || request_.explain || !request_.rules.empty() || stream_->cache.length() == 0) return;
    const auto known = std::ranges::mismatch(tokens_, stream_->computed_tokens).in1 - tokens_.begin();
    const std::size_t most_tokens = std::min(static_cast<std::size_t>(known) + kCheapRows, request_.max_tokens);
    std::optional<GrammarCursor> cursor = cursor_;
    Sentence words = result_.words;
    try {
      while (stream_->tokens.size() < most_tokens) {
        const std::optional<TokenId> next = likely_next(stream_->tokens, cursor, memory);
        if (!next || *next == Vocabulary::kEos || (cursor && !cursor->advance(*next))) break;
        if (cursor && cursor->settings() != rules_that_hold_) break;
        stream_->tokens.push_back(*next);
        words.push_back(model_.vocabulary().word(*next));
        ++stream_->num_guesses;
      }
    } catch (const Error&) {  // Of a text that may never be: nothing is left to choose from, or too many readings.
    }
    if (stream_->num_guesses > 0 && model_.network().num_features() > 0)
      stream_->features = model_.feature_bank().prefix_rows(words).values;
  }

  // Chooses the next token and, while it is what was guessed, those after it. A row of logits for each. They are
  // remembered where there is a memory.
  void choose(Matrix logits, LogitMemory* memory, const std::function<bool(const GeneratedToken&)>& on_token) {
    if (unasked_ != nullptr) {
      guide(logits.row_range(1, 1), logits.row_range(0, 1));
      logits = logits.row_range(0, 1);
    }
    const std::vector<TokenId> computed_tokens = stream_->tokens;
    const TokenStream* const computed = stream_;
    const std::size_t first = tokens_.size();
    const auto is_computed = [&] { return std::ranges::mismatch(tokens_, computed_tokens).in1 == tokens_.end(); };
    do {
      const std::span<const float> row(logits.row(tokens_.size() - first), logits.cols());
      if (memory != nullptr) memory->store(tokens_, row);
      choose(row, on_token);
    } while (is_computed() && prepare(on_token) && is_computed() && stream_ == computed);
  }

 private:
  // asked = unasked + guidance · (asked - unasked). A token that the model, as asked, holds for improbable is
  // never lifted: ratios of such probabilities are noise, and would end in text that no one asked for.
  void guide(ConstMatrix unasked, Matrix asked) const {
    constexpr double kImprobable = 0.1;  // Of the most probable token's.
    const auto guidance = static_cast<float>(request_.guidance);
    const std::span<float> logits(asked.row(0), asked.cols());
    const float least = *std::ranges::max_element(logits) + static_cast<float>(std::log(kImprobable));
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const float guided = unasked(0, i) + guidance * (logits[i] - unasked(0, i));
      logits[i] = guidance > 1.0f && logits[i] < least ? std::min(guided, logits[i]) : guided;
    }
  }

  double uniform_after(std::size_t num_tokens) const {
    return RandomStream(request_.seed, RandomPurpose::sampling, request_.index).uniform(num_tokens);
  }

  // What would be drawn after a text if the logits were those that are remembered.
  std::optional<TokenId> likely_next(std::span<const TokenId> text, std::optional<GrammarCursor>& cursor,
                                     const LogitMemory& memory) {
    if (const auto forced = cursor ? cursor->forced() : std::nullopt) return forced;
    const std::span<const float> logits = memory.recall(text);
    if (logits.empty()) return std::nullopt;
    const TokenSet* allowed = cursor ? &cursor->allowed() : nullptr;
    const DecodingStep step{.model = model_,
                            .tokens = text,
                            .allowed = allowed,
                            .slot = cursor ? slot_of(*allowed, classes_) : std::nullopt};
    return guessing_.draw(step, logits, uniform_after(text.size())).id;
  }

  void choose(std::span<const float> logits, const std::function<bool(const GeneratedToken&)>& on_token) {
    const TokenSet* allowed = cursor_ ? &cursor_->allowed() : nullptr;
    if (allowed != nullptr && allowed->count() == 0) {
      throw Error(fmt::format("after \"{}\" the grammar goes on but no word of the vocabulary fits; change the grammar",
                              join_words(result_.words)));
    }
    const DecodingStep step{.model = model_, .tokens = tokens_, .allowed = allowed, .slot = slot()};
    const double uniform = uniform_after(tokens_.size());
    TokenProbability drawn{};
    std::optional<TokenExplanation> explanation;
    if (request_.explain) {
      const std::vector<TokenProbability> distribution = choice_.distribution(step, logits);
      drawn = drawn_from(distribution, uniform);
      explanation = choice_.explain(step, distribution, drawn.id);
      explanation->settings = asked_rows_.names(rules_that_hold_);
    } else {
      drawn = choice_.draw(step, logits, uniform);
    }
    append({.id = drawn.id,
            .log_probability = std::log(drawn.probability),
            .forced = allowed != nullptr && allowed->count() == 1,
            .slot = step.slot,
            .explanation = std::move(explanation)},
           on_token);
  }

  void read_prompt() {
    const Sentence words = split_words(request_.prompt);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto refuse = [&](std::string_view what) {
        throw Error(fmt::format("prompt: word {} {} {}{}", i + 1, quoted_text(words[i]), what, what_fits()));
      };
      const std::optional<TokenId> id = model_.vocabulary().find(words[i]);
      if (!id) {
        const auto known = std::span(model_.vocabulary().entries()).subspan(Vocabulary::kEos + 1);
        refuse("is not in the vocabulary" + did_you_mean(words[i], known));
      }
      if (*id <= Vocabulary::kEos) refuse("is a special entry, which no text may contain");
      if (cursor_ && !cursor_->advance(*id)) refuse("cannot stand there in the grammar");
      tokens_.push_back(*id);
      result_.words.push_back(words[i]);
    }
    result_.prompt_tokens = words.size();
    if (words.size() > request_.max_tokens) {
      throw Error(fmt::format("prompt: it has {} words, more than max-tokens = {}; raise it", words.size(),
                              request_.max_tokens));
    }
  }

  std::string what_fits() {
    return cursor_ ? fmt::format("; what could: {}", fmt::join(cursor_->expected(), ", ")) : std::string();
  }

  std::optional<WordClass> slot() { return cursor_ ? slot_of(cursor_->allowed(), classes_) : std::nullopt; }

  // A setting of a rule holds for single words, but is asked for as if it held for the whole text: that is what the
  // model has learned to answer. So what is asked decides which stream reads the words; one that was not needed for
  // some words catches up with them.
  void choose_streams() {
    if (model_.network().num_features() > 0) features_ = model_.feature_bank().prefix_rows(result_.words).values;
    if (cursor_) rules_that_hold_ = cursor_->settings();
    stream_ = &stream_asked(asked_rows_.row(rules_that_hold_));
    const bool guided = request_.guidance != 1.0 && !stream_->request.empty();
    unasked_ = guided ? &stream_asked({}) : nullptr;
  }

  // At least for the request and for none.
  std::size_t most_streams() const {
    const ModelOptions& options = model_.options();
    const std::size_t bytes = 2 * options.layers * options.width * sizeof(float) * tokens_.size();
    return std::max<std::size_t>(2, kStreamBytes / bytes);
  }

  // The stream for that request, with the text so far.
  TokenStream& stream_asked(const std::vector<float>& request) {
    auto found = std::ranges::find_if(streams_, [&](const auto& stream) { return stream->request == request; });
    if (found == streams_.end()) {
      while (streams_.size() >= most_streams()) {
        pool_.give_back(std::move(streams_.back()));
        streams_.pop_back();
      }
      found = streams_.insert(streams_.end(), pool_.take());
      (*found)->request = request;
      (*found)->num_shared = 1 + result_.prompt_tokens;
    }
    std::rotate(streams_.begin(), found, found + 1);
    TokenStream& stream = *streams_.front();
    stream.tokens = tokens_;
    stream.features = features_;
    stream.num_guesses = 0;
    return stream;
  }

  void append(GeneratedToken token, const std::function<bool(const GeneratedToken&)>& on_token) {
    if (cursor_ && !cursor_->advance(token.id)) throw Error("the grammar refused a token that it allowed");
    finished_ = token.id == Vocabulary::kEos;
    token.word = model_.vocabulary().word(token.id);
    if (!finished_) {
      tokens_.push_back(token.id);
      result_.words.push_back(token.word);
    }
    const bool goes_on = !on_token || on_token(token);
    result_.tokens.push_back(std::move(token));
    if (!goes_on && !finished_) {
      finished_ = true;
      result_.finish = Generation::Finish::stopped;
    }
  }

  void finish() {
    result_.text = join_words(result_.words);
    result_.unmet_controls = choice_.unmet();
    if (!cursor_) return;
    const bool complete = cursor_->ended() || cursor_->can_end();
    result_.grammar = complete ? Generation::GrammarState::complete : Generation::GrammarState::incomplete;
    if (!complete) result_.expected = cursor_->expected();
  }

  const LanguageModel& model_;
  std::span<const std::optional<WordClass>> classes_;
  const GenerationRequest& request_;
  TokenChoice choice_;
  TokenChoice guessing_;  // The same, for tokens that may come to nothing.
  StreamPool& pool_;
  RequestRows asked_rows_;
  std::vector<TokenId> tokens_ = {Vocabulary::kBos};
  std::vector<float> features_;                        // [tokens, num_features]
  std::vector<std::unique_ptr<TokenStream>> streams_;  // One for each of the last requests, the last one first.
  std::vector<std::size_t> rules_that_hold_;           // For the next token: GrammarCursor::settings().
  TokenStream* stream_ = nullptr;                      // For the next token.
  TokenStream* unasked_ = nullptr;                     // The same words with nothing asked for; only with guidance.
  std::optional<GrammarCursor> cursor_;
  Generation result_;
  bool finished_ = false;
};

}  // namespace

Generator::Generator(const LanguageModel& model, std::size_t threads)
    : state_(std::make_unique<State>(model, thread_count(threads))) {}
Generator::~Generator() = default;
Generator::Generator(Generator&&) noexcept = default;

Generation Generator::generate(const GenerationRequest& request, const TokenCallback& on_token) const {
  return std::move(generate(std::span(&request, 1), on_token).front());
}

std::vector<Generation> Generator::generate(std::span<const GenerationRequest> requests,
                                            const TokenCallback& on_token) const {
  State& s = *state_;
  std::vector<Generation> results(requests.size());
  const std::size_t workers = std::clamp<std::size_t>(requests.size(), 1, s.threads);
  const std::size_t streams = std::min(kStreams, (requests.size() + workers - 1) / workers);
  std::atomic<std::size_t> next = 0;

  // Each worker keeps its streams busy: where a sentence ends, the next request begins.
  const auto work = [&] {
    struct Slot {
      std::size_t request;
      std::unique_ptr<Draft> draft;
      std::function<bool(const GeneratedToken&)> on_token;
    };
    std::unique_ptr<Worker> worker = s.take_worker();
    std::vector<Slot> slots;
    std::vector<TokenStream*> waiting;
    while (true) {
      while (slots.size() < streams) {
        const std::size_t index = next.fetch_add(1);
        if (index >= requests.size()) break;
        Slot slot{.request = index,
                  .draft = std::make_unique<Draft>(s.model, s.classes, requests[index], worker->streams),
                  .on_token = {}};
        if (on_token)
          slot.on_token = [&on_token, index](const GeneratedToken& token) { return on_token(index, token); };
        slots.push_back(std::move(slot));
      }
      std::erase_if(slots, [&](Slot& slot) {
        if (slot.draft->prepare(slot.on_token)) return false;
        results[slot.request] = slot.draft->take();
        return true;
      });
      if (slots.empty() && next.load() >= requests.size()) break;
      if (slots.empty()) continue;
      waiting.clear();
      // A pass of one stream waits for the weights to arrive: a few more tokens cost it little.
      LogitMemory* const memory = slots.size() == 1 && s.may_guess ? &worker->memory : nullptr;
      if (memory != nullptr) slots.front().draft->guess(*memory);
      for (const Slot& slot : slots) slot.draft->add_streams(waiting);
      const Matrix logits = worker->pass.run(waiting);
      std::size_t first_row = 0;
      for (const Slot& slot : slots) {
        const std::size_t rows = slot.draft->num_rows();
        slot.draft->choose(logits.row_range(first_row, rows), memory, slot.on_token);
        first_row += rows;
      }
    }
    s.give_back(std::move(worker));
  };
  if (workers == 1) {
    work();
  } else {
    ThreadPool pool(workers);
    pool.run(workers, [&](std::size_t, std::size_t) { work(); });
  }
  return results;
}

}  // namespace semfuse
