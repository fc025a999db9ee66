#include "generation/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/nearest_word.h"
#include "core/random.h"
#include "generation/guidance.h"
#include "generation/sampler.h"
#include "generation/word_slot.h"
#include "io/quoted_text.h"
#include "model/model_access.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr std::size_t kCheapRows = 4;  // Rows of a pass that cost little more than one.
constexpr std::size_t kStreamBytes = std::size_t{8}
                                     << 20;  // Of keys and values that a sentence keeps for its requests.

void check(const GenerationRequest& request) {
  const auto require = [](bool good, std::string_view rule) {
    if (!good) throw Error(fmt::format("generation: {}", rule));
  };
  const SamplingOptions& sampling = request.sampling;
  require(sampling.temperature >= 0.0 && std::isfinite(sampling.temperature), "temperature must be 0 or above");
  require(sampling.top_p > 0.0 && sampling.top_p <= 1.0, "top-p must be above 0 and at most 1");
  require(request.repetition.penalty >= 1.0 && std::isfinite(request.repetition.penalty),
          "repetition penalty must be 1 or above");
  require(request.repetition.punctuation_penalty >= 1.0 && std::isfinite(request.repetition.punctuation_penalty),
          "punctuation penalty must be 1 or above");
  require(request.max_tokens > 0, "max-tokens must be above 0");
  require(request.guidance >= 0.0 && request.guidance <= kMostGuidance,
          fmt::format("guidance must be from 0 to {}; 1 is as calibrated", kMostGuidance));
}

}  // namespace

Draft::Draft(const LanguageModel& model, std::span<const std::size_t> classes, const KnobCells& cells,
             const GenerationRequest& request, std::span<const KnobSetting> rules, StreamPool& pool)
    : model_(model),
      classes_(classes),
      request_(request),
      choice_(request, classes),
      guessing_(request, classes),
      pool_(pool),
      asked_rows_(model, cells, request, rules) {
  check(request);
  if (request.grammar) cursor_ = request.grammar->begin();
  if (ModelAccess::network(model).num_features() > 0 && !ModelAccess::features(model).looks_ahead()) {
    token_rows_.emplace(ModelAccess::features(model));
    features_.assign(token_rows_->row().begin(), token_rows_->row().end());
  }
  read_prompt();
}

Draft::~Draft() {
  for (std::unique_ptr<TokenStream>& stream : streams_) pool_.give_back(std::move(stream));
}

void Draft::add_streams(std::vector<TokenStream*>& streams) const {
  streams.push_back(stream_);
  if (unasked_ != nullptr) streams.push_back(unasked_);
}

Generation Draft::take() {
  result_.text = text_so_far();
  return std::move(result_);
}

bool Draft::prepare(const std::function<bool(const GeneratedToken&)>& on_token) {
  while (!finished_) {
    const TokenSet* allowed = allowed_by(cursor_, result_.words.size());
    const std::optional<TokenId> forced = allowed != nullptr ? allowed->only() : std::nullopt;
    if (result_.words.size() >= request_.max_tokens && forced != Vocabulary::kEos) {
      result_.finish = Generation::Finish::out_of_tokens;
      break;
    }
    if (!forced || request_.explain) {
      choose_streams();
      return true;
    }
    append({.id = *forced, .log_probability = 0.0, .forced = true}, on_token);
  }
  finish();
  return false;
}

void Draft::guess(const LogitMemory& memory) {
  if (unasked_ != nullptr || request_.explain || !request_.rules.empty() || stream_->cache.length() == 0) return;
  const auto known = std::ranges::mismatch(tokens_, stream_->computed_tokens).in1 - tokens_.begin();
  const std::size_t most_tokens = std::min(static_cast<std::size_t>(known) + kCheapRows, request_.max_tokens);
  std::optional<GrammarCursor> cursor = cursor_;
  std::optional<TokenCursor> token_rows = token_rows_;
  try {
    while (stream_->tokens.size() < most_tokens) {
      const std::optional<TokenId> next = likely_next(stream_->tokens, cursor, memory);
      if (!next || *next == Vocabulary::kEos || (cursor && !cursor->advance(*next))) break;
      if (cursor && cursor->settings() != rules_that_hold_) break;
      stream_->tokens.push_back(*next);
      if (token_rows) {
        const std::span<const float> row = token_rows->append(*next);
        stream_->features.insert(stream_->features.end(), row.begin(), row.end());
      }
      ++stream_->num_guesses;
    }
  } catch (const Error&) {  // Of a text that may never be: nothing is left to choose from, or too many readings.
  }
}

void Draft::choose(Matrix logits, LogitMemory* memory, const std::function<bool(const GeneratedToken&)>& on_token) {
  if (unasked_ != nullptr) {
    const auto words = [&](std::size_t row) {  // <pad> and <bos> are never drawn.
      return std::span(logits.row(row), logits.cols()).subspan(Vocabulary::kEos);
    };
    guide(words(1), words(0), guidance_, most_probable({logits.row(0), logits.cols()}));
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

float Draft::most_probable(std::span<const float> logits) {
  const TokenSet* allowed = allowed_by(cursor_, result_.words.size());
  float most = -INFINITY;
  for (std::size_t id = Vocabulary::kEos; id < logits.size(); ++id) {
    if (allowed == nullptr || allowed->contains(static_cast<TokenId>(id))) most = std::max(most, logits[id]);
  }
  return most;
}

const TokenSet* Draft::allowed_by(std::optional<GrammarCursor>& cursor, std::size_t num_words) const {
  if (!cursor) return nullptr;
  const TokenSet& closing = cursor->allowed_within(request_.max_tokens - std::min(request_.max_tokens, num_words));
  return closing.count() > 0 ? &closing : &cursor->allowed();
}

double Draft::uniform_after(std::size_t num_tokens) const {
  return RandomStream(request_.seed, RandomPurpose::sampling, request_.index).uniform(num_tokens);
}

std::optional<TokenId> Draft::likely_next(std::span<const TokenId> text, std::optional<GrammarCursor>& cursor,
                                          const LogitMemory& memory) {
  const TokenSet* allowed = allowed_by(cursor, text.size() - 1);
  if (const auto forced = allowed != nullptr ? allowed->only() : std::nullopt) return forced;
  const std::span<const float> logits = memory.recall(text);
  if (logits.empty()) return std::nullopt;
  const DecodingStep step{.vocabulary = model_.vocabulary(), .tokens = text, .allowed = allowed};
  return guessing_.draw(step, logits, uniform_after(text.size()), cells_).id;
}

void Draft::choose(std::span<const float> logits, const std::function<bool(const GeneratedToken&)>& on_token) {
  const TokenSet* allowed = allowed_by(cursor_, result_.words.size());
  if (allowed != nullptr && allowed->count() == 0) {
    throw Error(fmt::format("after \"{}\" the grammar goes on but no word of the vocabulary fits; change the grammar",
                            text_so_far()));
  }
  const DecodingStep step{.vocabulary = model_.vocabulary(), .tokens = tokens_, .allowed = allowed};
  const double uniform = uniform_after(tokens_.size());
  TokenProbability drawn{};
  std::optional<TokenExplanation> explanation;
  if (request_.explain) {
    const std::vector<TokenProbability> distribution = choice_.distribution(step, logits, cells_);
    drawn = drawn_from(distribution, uniform);
    explanation = choice_.explain(step, distribution, drawn.id);
    explanation->settings = asked_rows_.names(rules_that_hold_);
    if (allowed != nullptr) {
      explanation->slot = slot_name(slot_of(*allowed, classes_), model_.feature_bank().lexicon());
    }
  } else {
    drawn = choice_.draw(step, logits, uniform, cells_);
  }
  append({.id = drawn.id,
          .log_probability = choice_.log_probability(drawn),
          .forced = allowed != nullptr && allowed->count() == 1,
          .explanation = std::move(explanation)},
         on_token);
}

std::string Draft::text_so_far() const {
  return model_.decode(tokens_);
}

void Draft::read_prompt() {
  const bool has_tokenizer = model_.tokenizer() != nullptr;
  if (has_tokenizer) {
    for (const TokenId id : model_.encode(request_.prompt)) {
      read_prompt_token(id, model_.vocabulary().word(id), result_.words.size() + 1);
    }
  } else {
    const Sentence words = split_words(request_.prompt);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::optional<TokenId> id = model_.vocabulary().find(words[i]);
      const auto refuse = [&](const std::string& what) {
        throw Error(fmt::format("prompt: word {} {} {}{}", i + 1, quoted_text(words[i]), what, what_fits()));
      };
      if (!id) {
        const auto known = std::span(model_.vocabulary().entries()).subspan(Vocabulary::kEos + 1);
        refuse("is not in the vocabulary" + did_you_mean(words[i], known));
      }
      if (*id <= Vocabulary::kEos) refuse("is a special entry, which no text may contain");
      read_prompt_token(*id, words[i], i + 1);
    }
  }
  result_.prompt_tokens = result_.words.size();
  if (result_.prompt_tokens > request_.max_tokens) {
    throw Error(fmt::format("prompt: it has {} {}, more than max-tokens = {}; raise it", result_.prompt_tokens,
                            has_tokenizer ? "tokens" : "words", request_.max_tokens));
  }
}

void Draft::read_prompt_token(TokenId id, const std::string& word, std::size_t place) {
  if (cursor_ && !cursor_->advance(id)) {
    throw Error(fmt::format("prompt: {} {} {} cannot stand there in the grammar{}",
                            model_.tokenizer() != nullptr ? "token" : "word", place, quoted_text(word), what_fits()));
  }
  tokens_.push_back(id);
  result_.words.push_back(word);
}

std::string Draft::what_fits() {
  return cursor_ ? fmt::format("; what could: {}", fmt::join(cursor_->expected(), ", ")) : std::string();
}

void Draft::choose_streams() {
  read_features();
  if (cursor_) rules_that_hold_ = cursor_->settings();
  const RequestRows::Asked& asked = asked_rows_.asked(rules_that_hold_);
  stream_ = &stream_asked(asked.row);
  cells_ = asked.cells;
  guidance_ = asked.guidance;
  const bool guided = guidance_ != 1.0 && !stream_->request.empty();
  unasked_ = guided ? &stream_asked({}) : nullptr;
}

void Draft::read_features() {
  const std::size_t num_features = ModelAccess::network(model_).num_features();
  if (num_features == 0) return;
  if (!token_rows_) {
    features_ = ModelAccess::features(model_).prefix_rows(std::span(tokens_).subspan(1)).values;
    return;
  }
  for (std::size_t t = features_.size() / num_features; t < tokens_.size(); ++t) {
    const std::span<const float> row = token_rows_->append(tokens_[t]);
    features_.insert(features_.end(), row.begin(), row.end());
  }
}

std::size_t Draft::most_streams() const {
  const ModelOptions& options = model_.options();
  const std::size_t bytes = 2 * options.layers * options.width * sizeof(float) * tokens_.size();
  return std::max<std::size_t>(2, kStreamBytes / bytes);
}

TokenStream& Draft::stream_asked(const std::vector<float>& request) {
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
  // It has the beginning of this text already, and perhaps guesses; rows that look ahead may have changed.
  const std::size_t kept = token_rows_ ? stream.tokens.size() - stream.num_guesses : 0;
  const std::size_t num_features = ModelAccess::network(model_).num_features();
  stream.tokens.resize(kept);
  stream.features.resize(kept * num_features);
  stream.num_unchanged = std::min(kept, stream.num_certain);
  stream.tokens.insert(stream.tokens.end(), tokens_.begin() + static_cast<std::ptrdiff_t>(kept), tokens_.end());
  stream.features.insert(stream.features.end(), features_.begin() + static_cast<std::ptrdiff_t>(kept * num_features),
                         features_.end());
  stream.num_guesses = 0;
  return stream;
}

void Draft::append(GeneratedToken token, const std::function<bool(const GeneratedToken&)>& on_token) {
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

void Draft::finish() {
  result_.unmet.assign(choice_.unmet().begin(), choice_.unmet().end());
  if (!cursor_) return;
  const bool complete = cursor_->ended() || cursor_->can_end();
  result_.grammar = complete ? Generation::GrammarState::complete : Generation::GrammarState::incomplete;
  if (!complete) result_.expected = cursor_->expected();
}

}  // namespace semfuse
