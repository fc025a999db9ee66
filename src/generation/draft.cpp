#include "generation/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/nearest_word.h"
#include "core/random.h"
#include "features/knob_index.h"
#include "generation/guidance.h"
#include "generation/sampler.h"
#include "generation/usual_source.h"
#include "generation/word_slot.h"
#include "io/quoted_text.h"
#include "model/model_access.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr std::size_t kCheapRows = 4;  // Rows of a pass that cost little more than one.

}  // namespace

void check_request(const GenerationRequest& request, std::span<const Knob> knobs) {
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
  for (const KnobGuidance& own : request.knob_guidance) {
    require(knob_index(knobs, own.knob) < knobs.size(),
            fmt::format("guidance of {}: is no knob of the model", own.knob));
    require(own.weight >= 0.0 && own.weight <= kMostGuidance,
            fmt::format("guidance of {} must be from 0 to {}; 1 is as calibrated", own.knob, kMostGuidance));
    require(std::ranges::count(request.knob_guidance, own.knob, &KnobGuidance::knob) == 1,
            fmt::format("guidance of {} is set twice; set it once", own.knob));
  }
  require(!request.source || (request.guidance == 1.0 && request.knob_guidance.empty()),
          "guidance is a method of its own; leave it at 1 where another one steers");
}

Draft::Draft(const ReadModel& model, std::span<const std::size_t> classes, const KnobCells& cells,
             const GenerationRequest& request, std::span<const KnobSetting> rules, const Workers& workers)
    : read_model_(model),
      model_(model.model()),
      classes_(classes),
      request_(request),
      choice_(request, classes),
      guessing_(request, classes),
      workers_(workers),
      asked_rows_(model_, cells, request, rules),
      most_tokens_(request.max_tokens) {
  if (const PretrainedNetwork* network = ModelAccess::pretrained(model_)) {
    most_tokens_ = std::min(most_tokens_, network->context() - 1);  // <bos> is one.
  }
  check_request(request, model_.options().knobs);
  if (request.grammar) cursor_ = request.grammar->begin();
  state_ = (request.source ? *request.source : usual_source()).open(model, request);
  text_in(model);
  read_prompt();
}

Generation Draft::take() {
  result_.text = text_so_far();
  return std::move(result_);
}

bool Draft::prepare(const std::function<bool(const GeneratedToken&)>& on_token) {
  while (!finished_) {
    const TokenSet* allowed = allowed_by(cursor_, result_.words.size());
    const std::optional<TokenId> forced = allowed != nullptr ? allowed->only() : std::nullopt;
    if (result_.words.size() >= most_tokens_ && forced != Vocabulary::kEos) {
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
  TokenStream& stream = *waiting_.front().stream;
  if (!state_->is_plain() || request_.explain || !request_.rules.empty() || stream.cache.length() == 0) return;
  const auto known = std::ranges::mismatch(tokens_, stream.computed_tokens).in1 - tokens_.begin();
  const std::size_t most_tokens = std::min(static_cast<std::size_t>(known) + kCheapRows, most_tokens_);
  std::optional<GrammarCursor> cursor = cursor_;
  std::optional<TokenCursor> token_rows = texts_.front().reader->token_rows();
  try {
    while (stream.tokens.size() < most_tokens) {
      const std::optional<TokenId> next = likely_next(stream.tokens, cursor, memory);
      if (!next || *next == Vocabulary::kEos || (cursor && !cursor->advance(*next))) break;
      if (cursor && cursor->settings() != rules_that_hold_) break;
      stream.tokens.push_back(*next);
      if (token_rows) {
        const std::span<const float> row = token_rows->append(*next);
        stream.features.insert(stream.features.end(), row.begin(), row.end());
      }
      ++stream.num_guesses;
    }
  } catch (const Error&) {  // Of a text that may never be: nothing is left to choose from, or too many readings.
  }
}

void Draft::choose(std::span<const ReadRows> rows, LogitMemory* memory,
                   const std::function<bool(const GeneratedToken&)>& on_token) {
  if (!state_->is_plain()) {
    std::vector<ReadRows> read;
    for (std::size_t i = 0; i < readings_.size(); ++i) {
      const ReadRows& all = rows[row_of_reading_[i]];
      const std::size_t first = all.logits.rows() - readings_[i].num_rows;
      read.push_back({.logits = all.logits.row_range(first, readings_[i].num_rows),
                      .hidden = all.hidden.row_range(first, readings_[i].num_rows),
                      .stream = all.stream});
    }
    if (request_.explain) unsteered_.assign(read.front().next().begin(), read.front().next().end());
    state_->combine({.tokens = tokens_, .allowed = allowed_by(cursor_, result_.words.size())}, read);
    choose(read.front().next(), on_token);
    return;
  }
  const Matrix logits = rows.front().logits;
  const TokenStream* const computed = waiting_.front().stream;
  const std::size_t first = tokens_.size();
  // The stream holds other guesses after the next prepare(). The text before them may be long, and is not copied.
  const std::vector<TokenId> guesses(computed->tokens.begin() + static_cast<std::ptrdiff_t>(first),
                                     computed->tokens.end());
  const auto is_computed = [&] {
    return tokens_.size() - first <= guesses.size() &&
           std::equal(tokens_.begin() + static_cast<std::ptrdiff_t>(first), tokens_.end(), guesses.begin());
  };
  do {
    const std::span<const float> row(logits.row(tokens_.size() - first), logits.cols());
    if (memory != nullptr) memory->store(tokens_, row);
    choose(row, on_token);
  } while (is_computed() && prepare(on_token) && is_computed() && waiting_.front().stream == computed &&
           state_->is_plain());
}

const TokenSet* Draft::allowed_by(std::optional<GrammarCursor>& cursor, std::size_t num_words) const {
  if (!cursor) return nullptr;
  const TokenSet& closing = cursor->allowed_within(most_tokens_ - std::min(most_tokens_, num_words));
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
    explanation = choice_.explain(step, distribution, drawn.id, unsteered_);
    unsteered_.clear();
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

// Tokens of an imported model may look alike, which entries of a vocabulary do not.
const std::string& Draft::word_of(TokenId id) const {
  if (id <= Vocabulary::kEos || model_.tokenizer() == nullptr) return model_.vocabulary().word(id);
  return model_.tokenizer()->surfaces()[static_cast<std::size_t>(id)];
}

std::string Draft::text_so_far() const {
  return model_.decode(tokens_);
}

void Draft::stop() {
  if (finished_) return;
  finished_ = true;
  result_.finish = Generation::Finish::stopped;
}

void Draft::ask_again() {
  asked_rows_.read_request();
  state_ = usual_source().open(read_model_, request_);
}

void Draft::read_prompt_ids() {
  const auto num_entries = static_cast<TokenId>(model_.vocabulary().size());
  for (const TokenId id : request_.prompt_ids) {
    const std::size_t place = result_.words.size() + 1;
    if (id <= Vocabulary::kEos || id >= num_entries) {
      throw Error(fmt::format("prompt: token {} is {}; ids of text are {} to {}", place, id, Vocabulary::kEos + 1,
                              num_entries - 1));
    }
    read_prompt_token(id, word_of(id), place);
  }
}

void Draft::read_prompt() {
  const bool has_tokenizer = model_.tokenizer() != nullptr;
  if (!request_.prompt_ids.empty()) {
    read_prompt_ids();
  } else if (has_tokenizer) {
    for (const TokenId id : model_.encode(request_.prompt)) {
      read_prompt_token(id, word_of(id), result_.words.size() + 1);
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
  const char* unit = has_tokenizer ? "tokens" : "words";
  if (result_.prompt_tokens > request_.max_tokens) {
    throw Error(fmt::format("prompt: it has {} {}, more than max-tokens = {}; raise it", result_.prompt_tokens, unit,
                            request_.max_tokens));
  }
  const PretrainedNetwork* network = ModelAccess::pretrained(model_);
  if (result_.prompt_tokens == 0 && network != nullptr && !network->begins_texts()) {
    throw Error("prompt: there is none, and the model has no token that begins a text; give it a prompt");
  }
  if (result_.prompt_tokens > most_tokens_) {
    throw Error(fmt::format("prompt: it has {} {}, and the model reads {} at most; shorten it", result_.prompt_tokens,
                            unit, most_tokens_));
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

Draft::ModelText& Draft::text_in(const ReadModel& model) {
  const auto found = std::ranges::find(texts_, &model, &ModelText::model);
  if (found != texts_.end()) return *found;
  ModelWorker& worker = workers_(model);
  texts_.push_back(
      {.model = &model, .worker = &worker, .reader = std::make_unique<TextReader>(model.model(), worker.streams)});
  return texts_.back();
}

void Draft::choose_streams() {
  if (cursor_) rules_that_hold_ = cursor_->settings();
  const RequestRows::Asked& asked = asked_rows_.asked(rules_that_hold_);
  cells_ = asked.cells;
  readings_.clear();
  row_of_reading_.clear();
  waiting_.clear();
  state_->add_readings(tokens_, asked, readings_);
  for (Reading& reading : readings_) {
    if (reading.model == nullptr) reading.model = &read_model_;
    text_in(*reading.model);
  }
  for (ModelText& text : texts_) text.reader->begin(tokens_);
  for (const Reading& reading : readings_) {
    ModelText& text = text_in(*reading.model);
    const auto same = [&](const Waiting& waiting) {
      return waiting.worker == text.worker && waiting.stream->request == reading.request;
    };
    auto found = std::ranges::find_if(waiting_, same);
    if (found == waiting_.end()) {
      TokenStream& stream = text.reader->read(reading.request, 1 + result_.prompt_tokens);
      found = waiting_.insert(waiting_.end(), {.worker = text.worker, .stream = &stream});
    }
    // Rows of earlier tokens come as those of guesses do.
    found->stream->num_guesses = std::max(found->stream->num_guesses, reading.num_rows - 1);
    row_of_reading_.push_back(static_cast<std::size_t>(found - waiting_.begin()));
  }
}

void Draft::append(GeneratedToken token, const std::function<bool(const GeneratedToken&)>& on_token) {
  if (cursor_ && !cursor_->advance(token.id)) throw Error("the grammar refused a token that it allowed");
  finished_ = token.id == Vocabulary::kEos;
  token.word = word_of(token.id);
  if (!finished_) {
    tokens_.push_back(token.id);
    result_.words.push_back(token.word);
  }
  const bool goes_on = !on_token || on_token(token);
  result_.tokens.push_back(std::move(token));
  if (!goes_on) stop();
}

void Draft::finish() {
  result_.unmet.assign(choice_.unmet().begin(), choice_.unmet().end());
  if (!cursor_) return;
  const bool complete = cursor_->ended() || cursor_->can_end();
  result_.grammar = complete ? Generation::GrammarState::complete : Generation::GrammarState::incomplete;
  if (!complete) result_.expected = cursor_->expected();
}

}  // namespace semfuse
