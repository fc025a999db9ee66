#include "serve/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/model_access.h"
#include "serve/error_answer.h"
#include "serve/request_rules.h"

namespace semfuse {

namespace {

constexpr std::size_t kUsualTokens = 64;  // Of a text, the prompt included: as `semfuse generate`.
constexpr std::size_t kLeastTokens = 16;  // After a prompt that has nearly as many.
constexpr std::size_t kRunners = 5;       // Shown of a token that is explained.

std::uint64_t random_seed() {
  static thread_local std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) >> 11;  // A number that JavaScript can hold too.
}

constexpr double kLeastLogprob = -1e4;  // JSON has no infinity.

double log_of(double probability) {
  return std::max(std::log(probability), kLeastLogprob);
}

constexpr std::size_t kLongPrompts = std::size_t{64} << 10;  // Bytes that are too many to be read at once.
// Tokens that an answer may name beside those that were drawn: about 0.5 KB each until it is sent.
constexpr std::size_t kMostRunners = 200'000;

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace

void Completion::Choice::place(TokenLogprob& logprob, std::string_view bytes) const {
  const bool within = !bytes.empty() && continues_character(bytes.front()) && characters > 0;
  logprob.offset = offset;
  logprob.character = within ? characters - 1 : characters;
}

void Completion::Choice::advance(std::string_view bytes) {
  offset += bytes.size();
  characters += static_cast<std::size_t>(std::ranges::count_if(bytes, [](char c) { return !continues_character(c); }));
}

void Completion::Choice::drop_stopped_logprobs() {
  if (!stopped) return;
  const std::size_t end = echoed.size() + text.text().size();
  std::erase_if(logprobs, [&](const TokenLogprob& each) { return each.offset >= end; });
}

std::vector<TokenLogprob> Completion::Choice::take_logprobs(std::size_t end) {
  const auto rest = std::ranges::find_if(logprobs, [&](const TokenLogprob& each) { return each.offset >= end; });
  std::vector<TokenLogprob> taken(std::make_move_iterator(logprobs.begin()), std::make_move_iterator(rest));
  logprobs.erase(logprobs.begin(), rest);
  return taken;
}

Completion::Completion(std::string id, CompletionRequest request, std::shared_ptr<ServedModel> model,
                       std::shared_ptr<HttpExchange> exchange, Metrics& metrics, Clock::time_point deadline,
                       std::shared_ptr<void> places, std::function<void(const Completion&)> on_end)
    : head_{.id = std::move(id),
            .created =
                std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
                    .count(),
            .model = model->id(),
            .chat = request.chat},
      request_(std::move(request)),
      model_(std::move(model)),
      exchange_(std::move(exchange)),
      metrics_(metrics),
      deadline_(deadline),
      on_end_(std::move(on_end)),
      events_(head_),
      seed_(request_.seed ? *request_.seed : random_seed()),
      places_(std::move(places)) {
  for (std::size_t i = 0; i < request_.n * request_.prompts.size(); ++i) {
    choices_.push_back(std::make_unique<Choice>(request_.stop));
  }
}

bool Completion::takes_long() const {
  std::size_t bytes = 0;
  for (const CompletionRequest::Prompt& prompt : request_.prompts) bytes += prompt.text.size();
  return (request_.echo && request_.logprobs) || bytes > kLongPrompts;
}

std::vector<TokenId> Completion::ids_of(const CompletionRequest::Prompt& prompt) const {
  const LanguageModel& model = model_->model();
  if (prompt.ids.empty()) {
    try {
      return model.encode(prompt.text);
    } catch (const Error& error) {
      throw ApiError(400, fmt::format("prompt: {}", error.what()), "prompt");
    }
  }
  const auto num_ids = static_cast<TokenId>(model.vocabulary().size());
  for (const TokenId id : prompt.ids) {
    if (id > Vocabulary::kEos && id < num_ids) continue;
    throw ApiError(
        400, fmt::format("prompt: {} is no token of text; ids are {} to {}", id, Vocabulary::kEos + 1, num_ids - 1),
        "prompt");
  }
  return prompt.ids;
}

GenerationRequest Completion::generation_request(const CompletionRequest::Prompt& prompt, std::size_t prompt_tokens,
                                                 std::size_t index) const {
  GenerationRequest request;
  request.prompt = prompt.text;
  request.prompt_ids = prompt.ids;
  request.grammar = grammar_;
  request.sampling = request_.sampling;
  request.repetition.penalty = request_.repetition_penalty;
  request.knobs = knobs_;
  request.guidance = request_.guidance;
  request.calibrated = request_.calibrated;
  request.rules = rules_;
  request.seed = seed_;
  request.index = index;
  request.explain = request_.explain || request_.logprobs.value_or(0) > 0;
  request.choices = std::max<std::size_t>(request_.explain ? kRunners : 1, request_.logprobs.value_or(0));
  const std::size_t context = model_->context();
  if (prompt_tokens >= context) {
    throw ApiError(400,
                   fmt::format("prompt: has {} tokens, and a text may have {}; shorten it", prompt_tokens, context),
                   "prompt", "context_length_exceeded");
  }
  if (request_.max_tokens) {
    if (prompt_tokens + *request_.max_tokens == 0) {
      throw ApiError(400, "max_tokens: 0 after a prompt of no tokens leaves nothing to write; ask for 1 or more",
                     "max_tokens");
    }
    request.max_tokens = prompt_tokens + *request_.max_tokens;
    if (request.max_tokens > context) {
      throw ApiError(400,
                     fmt::format("max_tokens: {} after a prompt of {} tokens is more than the {} that a text may have; "
                                 "lower it",
                                 *request_.max_tokens, prompt_tokens, context),
                     "max_tokens", "context_length_exceeded");
    }
  } else {
    request.max_tokens = std::min(std::max(kUsualTokens, prompt_tokens + kLeastTokens), context);
  }
  return request;
}

void Completion::start(std::shared_ptr<const CompiledGrammar> grammar) {
  grammar_ = std::move(grammar);
  knobs_ = knob_settings(model_->knobs(), request_.knobs);
  const std::size_t vocab_size = model_->model().vocabulary().size();
  for (const auto& [id, bias] : request_.logit_bias) {
    if (static_cast<std::size_t>(id) < vocab_size) continue;
    throw ApiError(400, fmt::format("logit_bias: {} is no token; ids are below {}", id, vocab_size), "logit_bias");
  }
  if (!request_.logit_bias.empty()) rules_.push_back(std::make_shared<BiasRule>(request_.logit_bias));
  if (request_.min_p > 0.0) rules_.push_back(std::make_shared<MinPRule>(request_.min_p));
  std::vector<GenerationRequest> requests;
  std::vector<std::vector<TokenId>> prompts;
  std::size_t prompt_tokens = 0;
  for (const CompletionRequest::Prompt& prompt : request_.prompts) {
    const std::vector<TokenId>& ids = prompts.emplace_back(ids_of(prompt));
    prompt_tokens += ids.size();
    for (std::size_t k = 0; k < request_.n; ++k) requests.push_back(generation_request(prompt, ids.size(), k));
  }
  std::size_t most_runners = 0;
  for (const GenerationRequest& each : requests) most_runners += each.explain ? each.max_tokens * each.choices : 0;
  if (!request_.stream && most_runners > kMostRunners) {
    throw ApiError(400,
                   fmt::format("logprobs: the answer could name {} tokens beside those drawn, and may name {}; ask for "
                               "fewer texts, tokens or alternatives, or for a stream",
                               most_runners, kMostRunners),
                   "logprobs");
  }
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    if (!is_wanted()) return;
    std::vector<TokenLogprob> logprobs;
    if (request_.echo && request_.logprobs) logprobs = scored(prompts[p], request_.prompts[p].with_bos);
    for (std::size_t k = 0; k < request_.n; ++k) begin_choice(*choices_[p * request_.n + k], prompts[p], logprobs);
  }
  const std::lock_guard lock(mutex_);
  if (over_ || failed_) return;
  submitted_ = true;
  num_left_ = requests.size();
  prompt_tokens_ = prompt_tokens;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto self = shared_from_this();
    choices_[i]->ticket = model_->session().submit(
        std::move(requests[i]),
        {.on_token = [self, i](const GeneratedToken& token) { return self->on_token(i, token); },
         .on_end = [self, i](const Generation& generation) { self->on_text_end(i, generation); }});
  }
}

void Completion::watch_client() {
  exchange_->on_gone([weak = weak_from_this()] {
    const std::shared_ptr<Completion> self = weak.lock();
    if (!self) return;
    {
      const std::lock_guard lock(self->mutex_);
      if (self->over_) return;
      self->over_ = true;
      if (!self->submitted_) self->finish();
    }
    self->metrics_.count_disconnect();
    self->cancel_texts();
  });
}

bool Completion::is_wanted() {
  fail_if_late(Clock::now());
  const std::lock_guard lock(mutex_);
  return !over_ && !failed_;
}

bool Completion::abandon() {
  const std::lock_guard lock(mutex_);
  if (over_ || failed_) return false;
  over_ = true;
  finish();
  return true;
}

void Completion::begin_choice(Choice& choice, const std::vector<TokenId>& ids,
                              const std::vector<TokenLogprob>& scored) const {
  const LanguageModel& model = model_->model();
  choice.has_bytes = !ids.empty();
  if (request_.echo) {
    choice.echoed = model.decode(ids);
    choice.echoed_logprobs = scored;
    choice.advance(choice.echoed);
  }
  if (request_.explain && model.options().fusion && ModelAccess::features(model).size() > 0) {
    choice.ids = ids;
    if (!ModelAccess::features(model).looks_ahead()) {
      choice.features.emplace(ModelAccess::features(model));
      for (const TokenId id : ids) choice.features->append(id);
    }
  }
}

std::vector<TokenLogprob> Completion::scored(const std::vector<TokenId>& ids, bool with_bos) {
  const std::vector<TokenScore> scores = model_->scores(ids, knobs_, *request_.logprobs);
  const auto text_of = [&](TokenId id, bool first) -> std::string {
    return id == Vocabulary::kEos ? "<eos>" : model_->surface(id, first);
  };
  std::vector<TokenLogprob> logprobs;
  // What has nothing before it has no probability: <bos>, or the first token where that was not sent.
  if (with_bos) logprobs.push_back({.token = "<bos>", .logprob = std::nullopt, .offset = 0});
  Choice text({});
  for (std::size_t i = 0; i < ids.size(); ++i) {
    TokenLogprob logprob{.token = text_of(ids[i], i == 0), .logprob = std::nullopt};
    if (i > 0 || with_bos) logprob.logprob = std::max(scores[i].log_probability, kLeastLogprob);
    for (const TokenProbability& each : scores[i].top) {
      logprob.top.emplace_back(text_of(each.id, i == 0), log_of(each.probability));
    }
    text.place(logprob, logprob.token);
    text.advance(logprob.token);
    logprobs.push_back(std::move(logprob));
  }
  return logprobs;
}

std::string Completion::surface_of(const std::string& word, bool first) const {
  const auto id = model_->model().vocabulary().find(word);
  return id && *id != Vocabulary::kEos ? model_->surface(*id, first) : word;
}

Json Completion::explanation(Choice& choice, const GeneratedToken& token, const std::string& bytes, bool first) const {
  const TokenExplanation& e = *token.explanation;
  Json features = Json::object();
  const LanguageModel& model = model_->model();
  if (model.options().fusion && ModelAccess::features(model).size() > 0) {
    const TokenFeatures& known = ModelAccess::features(model);
    choice.ids.push_back(token.id);
    FeatureMatrix rows;
    std::span<const float> row;
    if (choice.features) {
      row = choice.features->append(token.id);
    } else {
      rows = known.prefix_rows(choice.ids);
      row = {rows.row(rows.num_rows - 1), rows.num_features};
    }
    for (std::size_t f = 0; f < row.size(); ++f) {
      if (row[f] != 0.0F) features[known.names()[f]] = static_cast<double>(row[f]);
    }
  }
  Json runners = Json::array();
  for (const TokenExplanation::Choice& each : e.final_choices) {
    if (model.vocabulary().find(each.word) == token.id) continue;
    runners.push_back({{"token", shown_token(surface_of(each.word, first))}, {"probability", each.probability}});
  }
  Json json = {{"token", bytes},
               {"features", std::move(features)},
               {"slot", e.slot},
               {"forced", token.forced},
               {"model", e.model},
               {"grammar", e.grammar},
               {"controls", e.rules},
               {"drawn", e.sampler},
               {"runners", std::move(runners)}};
  if (e.unsteered) json["unsteered"] = *e.unsteered;
  if (!e.settings.empty()) json["settings"] = e.settings;
  return json;
}

TokenLogprob Completion::logprob_of(const Choice& choice, const GeneratedToken& token, const std::string& bytes,
                                    bool first) const {
  TokenLogprob logprob{.token = bytes, .logprob = std::max(token.log_probability, kLeastLogprob)};
  choice.place(logprob, bytes);
  if (!token.explanation) return logprob;
  for (const TokenExplanation::Choice& each : token.explanation->final_choices) {
    if (logprob.top.size() == *request_.logprobs) break;
    logprob.top.emplace_back(surface_of(each.word, first), log_of(each.probability));
  }
  return logprob;
}

bool Completion::on_token(std::size_t index, const GeneratedToken& token) {
  const std::lock_guard lock(mutex_);
  if (over_ || failed_) return false;
  if (!has_token_) {
    has_token_ = true;
    metrics_.count_first_token(std::chrono::duration<double>(Clock::now() - began_).count());
  }
  Choice& choice = *choices_[index];
  if (token.id == Vocabulary::kEos) {
    // Who asks what a prompt is worth takes what was drawn after it off the end of the list, so there must be
    // something.
    if (request_.echo && request_.logprobs) {
      choice.logprobs.push_back(logprob_of(choice, token, "<eos>", !choice.has_bytes));
    }
    return true;
  }
  ++choice.completion_tokens;
  const bool first = !choice.has_bytes;
  const std::string& bytes = model_->surface(token.id, first);
  choice.has_bytes = true;
  if (request_.logprobs) choice.logprobs.push_back(logprob_of(choice, token, bytes, first));
  choice.advance(bytes);
  Json explained;
  if (request_.explain) explained = explanation(choice, token, bytes, first);
  choice.stopped = !choice.text.append(bytes);
  if (!request_.stream) {
    if (request_.explain) choice.explanations.push_back(std::move(explained));
    return !choice.stopped;
  }
  const std::string piece = choice.text.take();
  // A stop text may still take back what is not shown.
  const std::vector<TokenLogprob> logprobs = choice.take_logprobs(choice.echoed.size() + choice.text.num_taken());
  if (!piece.empty() || request_.explain || !logprobs.empty()) {
    send_piece(index, piece, logprobs, request_.explain ? &explained : nullptr);
  }
  return !choice.stopped;
}

void Completion::on_text_end(std::size_t index, const Generation& generation) {
  std::unique_lock lock(mutex_);
  Choice& choice = *choices_[index];
  choice.ended = true;
  choice.finish = generation.finish;
  metrics_.count_tokens(generation.prompt_tokens, choice.completion_tokens);
  if (--num_left_ == 0) places_.reset();
  if (generation.error && !failed_ && !over_) {
    failed_ = true;
    send_error(text_error(*generation.error));
  }
  if (failed_ || over_) {
    if (num_left_ == 0) return finish();
    lock.unlock();
    return cancel_texts();
  }
  choice.text.finish();
  choice.drop_stopped_logprobs();
  const bool out_of_tokens = generation.finish == Generation::Finish::out_of_tokens;
  Json last = Json::object();
  if (!model_->knobs().empty()) last["realised"] = model_->realised(generation.text);
  if (request_.stream) {
    begin_stream();
    sending_.clear();
    std::optional<Json> logprobs;
    if (!choice.logprobs.empty()) logprobs = logprobs_json(head_.chat, choice.logprobs);
    events_.add_piece(sending_, index, choice.text.take(), out_of_tokens ? "length" : "stop",
                      logprobs ? &*logprobs : nullptr, &last);
    if (num_left_ > 0) return exchange_->write(sending_);
    if (request_.include_usage) sending_ += events_.usage(usage());
    sending_ += CompletionEvents::done();
    exchange_->end(sending_);
  } else {
    if (request_.explain) last["tokens"] = std::move(choice.explanations);
    choice.explanations = std::move(last);
    if (num_left_ > 0) return;
    send_whole();
  }
  over_ = true;
  finish();
}

void Completion::begin_stream() {
  if (streaming_) return;
  streaming_ = true;
  exchange_->begin({.content_type = "text/event-stream; charset=utf-8", .headers = {{"Cache-Control", "no-cache"}}});
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (head_.chat) exchange_->write(events_.role(i));
    if (!request_.echo || choices_[i]->echoed.empty()) continue;
    const Json logprobs = logprobs_json(head_.chat, choices_[i]->echoed_logprobs);
    sending_.clear();
    events_.add_piece(sending_, i, choices_[i]->echoed, "", request_.logprobs ? &logprobs : nullptr, nullptr);
    exchange_->write(sending_);
  }
}

void Completion::send_piece(std::size_t index, std::string_view text, const std::vector<TokenLogprob>& logprobs,
                            const Json* semfuse) {
  begin_stream();
  std::optional<Json> json;
  if (!logprobs.empty()) json = logprobs_json(head_.chat, logprobs);
  sending_.clear();
  events_.add_piece(sending_, index, text, "", json ? &*json : nullptr, semfuse);
  exchange_->write(sending_);
}

void Completion::send_error(const ApiError& error) {
  if (streaming_) {
    exchange_->end(CompletionEvents::error(error.json()));
  } else {
    exchange_->send(error_answer(error));
  }
}

Usage Completion::usage() const {
  Usage usage{.prompt_tokens = prompt_tokens_};
  for (const auto& choice : choices_) usage.completion_tokens += choice->completion_tokens;
  return usage;
}

void Completion::send_whole() {
  std::vector<CompletionChoice> list;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = *choices_[i];
    std::vector<TokenLogprob> logprobs = std::move(choice.echoed_logprobs);
    std::ranges::move(choice.logprobs, std::back_inserter(logprobs));
    list.push_back({.index = i,
                    .text = choice.echoed + choice.text.text(),
                    .finish_reason = choice.finish == Generation::Finish::out_of_tokens ? "length" : "stop",
                    .with_logprobs = request_.logprobs.has_value(),
                    .logprobs = std::move(logprobs),
                    .semfuse = std::move(choice.explanations)});
  }
  exchange_->send({.body = completion_json(head_, list, usage()).dump()});
}

void Completion::set_knobs(const std::vector<KnobSetting>& knobs, std::optional<double> guidance) {
  std::vector<GenerationSession::Ticket> tickets;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& choice : choices_) {
      if (!choice->ended && choice->ticket) tickets.push_back(*choice->ticket);
    }
  }
  try {
    for (const GenerationSession::Ticket ticket : tickets) model_->session().set_knobs(ticket, knobs, guidance);
  } catch (const ApiError&) {
    throw;
  } catch (const Error& error) {
    throw ApiError(400, error.what(), "knobs");
  }
  metrics_.count_knob_change();
}

void Completion::cancel() {
  cancel_texts();
}

// Without the lock: a text that has not begun ends inside the call.
void Completion::cancel_texts() {
  std::vector<GenerationSession::Ticket> tickets;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& choice : choices_) {
      if (!choice->ended && choice->ticket) tickets.push_back(*choice->ticket);
    }
  }
  for (const GenerationSession::Ticket ticket : tickets) model_->session().cancel(ticket);
}

void Completion::fail(const ApiError& error) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_ || over_) return;
    failed_ = true;
    if (!submitted_) places_.reset();
    send_error(error);
    if (!submitted_) finish();
  }
  cancel_texts();
}

void Completion::fail_if_late(Clock::time_point now) {
  if (deadline_ > now) return;
  fail(ApiError(504, "the text was not complete in time; ask for fewer tokens, or later", "", "timeout"));
}

void Completion::finish() {
  places_.reset();
  if (on_end_) std::exchange(on_end_, nullptr)(*this);
}

}  // namespace semfuse
