#include "serve/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/model_access.h"
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

}  // namespace

Completion::Completion(std::string id, CompletionRequest request, std::shared_ptr<ServedModel> model,
                       std::shared_ptr<HttpExchange> exchange, Metrics& metrics, Clock::time_point deadline,
                       std::function<void(const Completion&)> on_end)
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
      seed_(request_.seed ? *request_.seed : random_seed()) {
  for (std::size_t i = 0; i < request_.n * request_.prompts.size(); ++i) {
    choices_.push_back(std::make_unique<Choice>(request_.stop));
  }
}

std::size_t Completion::count_tokens(const CompletionRequest::Prompt& prompt) const {
  if (!prompt.ids.empty()) return prompt.ids.size();
  try {
    return model_->model().encode(prompt.text).size();
  } catch (const Error&) {  // The generator says what is wrong with it, and with which word.
    return 0;
  }
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
  std::size_t prompt_tokens = 0;
  for (const CompletionRequest::Prompt& prompt : request_.prompts) {
    const std::size_t num_tokens = count_tokens(prompt);
    prompt_tokens += num_tokens;
    for (std::size_t k = 0; k < request_.n; ++k) requests.push_back(generation_request(prompt, num_tokens, k));
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    begin_choice(*choices_[i], requests[i], request_.prompts[i / request_.n].with_bos);
  }
  exchange_->on_gone([weak = weak_from_this()] {
    const std::shared_ptr<Completion> self = weak.lock();
    if (!self) return;
    {
      const std::lock_guard lock(self->mutex_);
      if (self->over_) return;
      self->over_ = true;
    }
    self->metrics_.count_disconnect();
    self->cancel_texts();
  });
  const std::lock_guard lock(mutex_);
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

void Completion::begin_choice(Choice& choice, const GenerationRequest& request, bool with_bos) {
  const LanguageModel& model = model_->model();
  std::vector<TokenId> ids = request.prompt_ids;
  if (ids.empty() && !request.prompt.empty()) {
    try {
      ids = model.encode(request.prompt);
    } catch (const Error&) {
      return;  // The text will fail.
    }
  }
  const bool known =
      std::ranges::all_of(ids, [&](TokenId id) { return static_cast<std::size_t>(id) < model.vocabulary().size(); });
  if (!known) return;
  const std::string prompt = model.decode(ids);
  choice.has_bytes = !ids.empty();
  if (request_.echo) {
    if (request_.logprobs) score_prompt(choice, ids, with_bos);
    choice.offset = prompt.size();
    choice.echoed = prompt;
  }
  if (request_.explain && model.options().fusion && ModelAccess::features(model).size() > 0) {
    choice.ids = ids;
    if (!ModelAccess::features(model).looks_ahead()) {
      choice.features.emplace(ModelAccess::features(model));
      for (const TokenId id : ids) choice.features->append(id);
    }
  }
}

void Completion::score_prompt(Choice& choice, const std::vector<TokenId>& ids, bool with_bos) {
  const std::vector<TokenScore> scores = model_->scores(ids, knobs_, *request_.logprobs);
  const auto text_of = [&](TokenId id, bool first) -> std::string {
    return id == Vocabulary::kEos ? "<eos>" : model_->surface(id, first);
  };
  // What has nothing before it has no probability: <bos>, or the first token where that was not sent.
  if (with_bos) choice.logprobs.push_back({.token = "<bos>", .logprob = std::nullopt, .offset = 0});
  for (std::size_t i = 0; i < ids.size(); ++i) {
    TokenLogprob logprob{.token = text_of(ids[i], i == 0), .logprob = std::nullopt, .offset = choice.offset};
    if (i > 0 || with_bos) logprob.logprob = std::max(scores[i].log_probability, kLeastLogprob);
    for (const TokenProbability& each : scores[i].top) {
      logprob.top.emplace_back(text_of(each.id, i == 0), log_of(each.probability));
    }
    choice.offset += logprob.token.size();
    choice.logprobs.push_back(std::move(logprob));
  }
}

Json Completion::explanation(Choice& choice, const GeneratedToken& token, const std::string& bytes) const {
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
    if (each.word != token.word) runners.push_back({{"token", each.word}, {"probability", each.probability}});
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

TokenLogprob Completion::logprob_of(const Choice& choice, const GeneratedToken& token, const std::string& bytes) const {
  TokenLogprob logprob{
      .token = bytes, .logprob = std::max(token.log_probability, kLeastLogprob), .offset = choice.offset};
  if (!token.explanation) return logprob;
  for (const TokenExplanation::Choice& each : token.explanation->final_choices) {
    if (logprob.top.size() == *request_.logprobs) break;
    logprob.top.emplace_back(each.word, log_of(each.probability));
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
    if (!request_.echo || !request_.logprobs) return true;
    TokenLogprob logprob = logprob_of(choice, token, "<eos>");
    if (request_.stream) {
      send_piece(index, "", &logprob, nullptr);
    } else {
      choice.logprobs.push_back(std::move(logprob));
    }
    return true;
  }
  ++choice.completion_tokens;
  const std::string& bytes = model_->surface(token.id, !choice.has_bytes);
  choice.has_bytes = true;
  std::optional<TokenLogprob> logprob;
  if (request_.logprobs) logprob = logprob_of(choice, token, bytes);
  choice.offset += bytes.size();
  Json explained;
  if (request_.explain) explained = explanation(choice, token, bytes);
  choice.stopped = !choice.text.append(bytes);
  if (request_.stream) {
    const std::string piece = choice.text.take();
    if (!piece.empty() || request_.explain || logprob) {
      send_piece(index, piece, logprob ? &*logprob : nullptr, request_.explain ? &explained : nullptr);
    }
  } else {
    if (logprob) choice.logprobs.push_back(std::move(*logprob));
    if (request_.explain) choice.explanations.push_back(std::move(explained));
  }
  return !choice.stopped;
}

void Completion::on_text_end(std::size_t index, const Generation& generation) {
  std::unique_lock lock(mutex_);
  Choice& choice = *choices_[index];
  choice.ended = true;
  choice.finish = generation.finish;
  metrics_.count_tokens(generation.prompt_tokens, choice.completion_tokens);
  --num_left_;
  if (generation.error && !failed_ && !over_) {
    const bool of_prompt = generation.error->starts_with("prompt:");
    const ApiError error(400, *generation.error, of_prompt ? "prompt" : "");
    failed_ = true;
    send_error(error);
  }
  if (failed_ || over_) {
    if (num_left_ == 0) return finish();
    lock.unlock();
    return cancel_texts();
  }
  choice.text.finish();
  const bool out_of_tokens = generation.finish == Generation::Finish::out_of_tokens;
  Json last = Json::object();
  if (!model_->knobs().empty()) last["realised"] = model_->realised(generation.text);
  if (request_.stream) {
    begin_stream();
    sending_.clear();
    events_.add_piece(sending_, index, choice.text.take(), out_of_tokens ? "length" : "stop", nullptr, &last);
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
    const Json logprobs = logprobs_json(head_.chat, choices_[i]->logprobs);
    sending_.clear();
    events_.add_piece(sending_, i, choices_[i]->echoed, "", request_.logprobs ? &logprobs : nullptr, nullptr);
    exchange_->write(sending_);
  }
}

void Completion::send_piece(std::size_t index, std::string_view text, const TokenLogprob* logprob,
                            const Json* semfuse) {
  begin_stream();
  std::optional<Json> logprobs;
  if (logprob != nullptr) logprobs = logprobs_json(head_.chat, {*logprob});
  sending_.clear();
  events_.add_piece(sending_, index, text, "", logprobs ? &*logprobs : nullptr, semfuse);
  exchange_->write(sending_);
}

void Completion::send_error(const ApiError& error) {
  if (streaming_) {
    exchange_->end(CompletionEvents::error(error.json()));
  } else {
    exchange_->send({.status = error.status(), .body = error.json().dump()});
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
    list.push_back({.index = i,
                    .text = choice.echoed + choice.text.text(),
                    .finish_reason = choice.finish == Generation::Finish::out_of_tokens ? "length" : "stop",
                    .with_logprobs = request_.logprobs.has_value(),
                    .logprobs = std::move(choice.logprobs),
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
    send_error(error);
  }
  cancel_texts();
}

void Completion::finish() {
  if (on_end_) std::exchange(on_end_, nullptr)(*this);
}

}  // namespace semfuse
