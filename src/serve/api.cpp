#include "serve/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

#include "core/lower_case.h"
#include "io/quoted_text.h"
#include "model/model_access.h"
#include "semfuse/vocabulary.h"
#include "serve/error_answer.h"
#include "serve/grammar_check.h"
#include "serve/page_files.h"
#include "wire/api_error.h"

namespace semfuse {

namespace {

constexpr std::size_t kMostTasks = 64;
constexpr std::size_t kShortBody = 4096;          // A text in it is read at once.
constexpr std::size_t kMostFeatureTokens = 4096;  // Each has a row of numbers in the answer.

// Adds to every answer what it needs, and sees what becomes of it.
class SeenExchange : public HttpExchange {
 public:
  SeenExchange(std::shared_ptr<HttpExchange> exchange, HttpHeaders headers, Metrics& metrics,
               std::function<void(unsigned status)> log)
      : exchange_(std::move(exchange)), headers_(std::move(headers)), metrics_(metrics), log_(std::move(log)) {}

  void send(HttpAnswer answer) override {
    see(answer);
    ended(answer.status);
    exchange_->send(std::move(answer));
  }
  void begin(HttpAnswer head) override {
    see(head);
    exchange_->begin(std::move(head));
  }
  void write(std::string_view piece) override { exchange_->write(piece); }
  void end(std::string_view last_piece) override {
    ended(status_);
    exchange_->end(last_piece);
  }
  void on_gone(std::function<void()> callback) override {
    exchange_->on_gone([callback = std::move(callback), log = log_] {
      if (log) log(499);
      callback();
    });
  }

 private:
  void see(HttpAnswer& answer) {
    status_ = answer.status;
    metrics_.count_answer(answer.status);
    answer.headers.insert(answer.headers.end(), headers_.begin(), headers_.end());
  }
  void ended(unsigned status) const {
    if (log_) log_(status);
  }

  std::shared_ptr<HttpExchange> exchange_;
  HttpHeaders headers_;
  Metrics& metrics_;
  std::function<void(unsigned)> log_;
  std::atomic<unsigned> status_ = 0;
};

std::string random_id(std::string_view prefix) {
  static thread_local std::random_device random;  // Who knows an id may end its text, so none tells of another.
  return fmt::format("{}{:08x}{:08x}{:08x}", prefix, random(), random(), random());
}

void check_body(const HttpRequest& request) {
  const std::string type = lower_case(request.header("content-type"));
  const std::string encoding = lower_case(request.header("content-encoding"));
  const std::size_t charset = type.find("charset=");
  std::string_view kind = std::string_view(type).substr(0, type.find(';'));
  kind = kind.substr(0, kind.find_last_not_of(" \t") + 1);
  const bool is_json = kind == "application/json";
  const bool is_utf8 = charset == type.npos || type.find("utf-8", charset) != type.npos;
  if (!is_json || !is_utf8) throw ApiError(415, "the body must be JSON in UTF-8, with Content-Type: application/json");
  if (!encoding.empty() && encoding != "identity") throw ApiError(415, "the body must not be packed");
}

constexpr std::string_view kCompletions = "/v1/completions";
constexpr std::string_view kChatCompletions = "/v1/chat/completions";
constexpr std::string_view kModel = "/v1/models/";

// "/v1/completions/ID/knobs" is "ID/knobs"; empty if it is another path.
std::string_view after_completions(std::string_view path) {
  for (const std::string_view base : {kCompletions, kChatCompletions}) {
    if (path.starts_with(base) && path.substr(base.size()).starts_with('/')) return path.substr(base.size() + 1);
  }
  return {};
}

bool is_model(std::string_view path) {
  return path.starts_with(kModel) && path.size() > kModel.size();
}

bool is_of_text(std::string_view path) {
  static constexpr std::array<std::string_view, 5> kPaths = {"/v1/tokenize", "/tokenize", "/v1/detokenize",
                                                             "/detokenize", "/v1/features"};
  return std::ranges::find(kPaths, path) != kPaths.end();
}

// "POST"; empty if there is nothing at the path.
std::string_view methods_of(std::string_view path) {
  static constexpr std::array<std::string_view, 8> kPosted = {kCompletions,   kChatCompletions,   "/v1/tokenize",
                                                              "/tokenize",    "/v1/detokenize",   "/detokenize",
                                                              "/v1/features", "/v1/grammar/check"};
  static constexpr std::array<std::string_view, 4> kGot = {"/v1/models", "/health", "/metrics", "/tokenizer_info"};
  const std::string_view rest = after_completions(path);
  if (rest.ends_with("/knobs") || std::ranges::find(kPosted, path) != kPosted.end()) return "POST";
  if (!rest.empty() && rest.find('/') == rest.npos) return "DELETE";
  const bool is_got = std::ranges::find(kGot, path) != kGot.end() || is_model(path);
  return is_got || page_answer(path).status != 404 ? "GET, HEAD" : "";
}

ApiError not_answered(const HttpRequest& request) {
  const std::string_view methods = methods_of(request.path);
  if (methods.empty()) return {404, fmt::format("there is nothing at {}", quoted_text(request.path))};
  return {405, fmt::format("{} is not a method of this path; use {}", quoted_text(request.method), methods)};
}

// Of a model that does not know a word of it.
std::vector<TokenId> encoded(const ServedModel& model, const std::string& text) {
  try {
    return model.model().encode(text);
  } catch (const Error& error) {
    throw ApiError(400, fmt::format("text: {}", error.what()), "text");
  }
}

}  // namespace

Api::Api(ModelRegistry& models, ApiOptions options)
    : models_(models),
      options_(std::move(options)),
      access_(options_.access),
      later_(std::make_unique<LateAnswers>(kMostTasks)) {}

Api::~Api() {
  later_.reset();
  for (const auto& completion : completions()) completion->cancel();
  models_.wait();
}

void Api::handle(const HttpRequest& request, const std::shared_ptr<HttpExchange>& plain) {
  HttpHeaders headers = access_.cors_headers(request);
  headers.emplace_back("X-Content-Type-Options", "nosniff");
  headers.emplace_back("Referrer-Policy", "no-referrer");
  std::function<void(unsigned)> log;
  if (options_.log) {
    // Of its own: a connection may outlive what answers.
    log = [tell = options_.log,
           record = ApiOptions::Record{.client = request.client, .method = request.method, .path = request.path},
           began = std::chrono::steady_clock::now()](unsigned status) mutable {
      record.status = status;
      record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      tell(record);
    };
  }
  const auto exchange = std::make_shared<SeenExchange>(plain, std::move(headers), metrics_, std::move(log));
  try {
    access_.check_origin(request);
    if (request.method == "OPTIONS") {
      const std::string asked(request.header("access-control-request-headers"));  // Clients have many of their own.
      exchange->send({.status = 204,
                      .content_type = "",
                      .headers = {{"Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"},
                                  {"Access-Control-Allow-Headers",
                                   asked.empty() ? "Authorization, Content-Type, X-Api-Key" : asked},
                                  {"Access-Control-Max-Age", "600"}}});
      return;
    }
    if (begin_completion(request, exchange) || begin_grammar_check(request, exchange) ||
        begin_long_text(request, exchange)) {
      return;
    }
    exchange->send(answer(request));
  } catch (const ApiError& error) {
    if (error.status() == 401 || error.status() == 429) metrics_.count_refused(error.status() == 429);
    HttpAnswer refused = error_answer(error);
    if (error.status() == 405) refused.headers.emplace_back("Allow", methods_of(request.path));
    exchange->send(std::move(refused));
  } catch (...) {
    exchange->send(error_answer(std::current_exception()));
  }
}

HttpAnswer Api::answer(const HttpRequest& request) {
  const bool is_get = request.method == "GET" || request.method == "HEAD";
  if (is_get) return answer_get(request);
  access_.check_key(request);
  if (request.method == "POST") return answer_post(request);
  if (request.method == "DELETE") {
    const std::string_view id = after_completions(request.path);
    if (!id.empty() && id.find('/') == id.npos) return end_completion(id);
  }
  throw not_answered(request);
}

HttpAnswer Api::answer_get(const HttpRequest& request) {
  const std::string& path = request.path;
  if (path == "/health") return {.body = R"({"status":"ok"})"};
  HttpAnswer file = page_answer(path);
  if (file.status != 404) return file;
  access_.check_key(request);
  if (path == "/v1/models") {
    Json list = Json::array();
    for (const auto& model : models_.all()) list.push_back(model->description());
    return {.body = Json{{"object", "list"}, {"data", std::move(list)}}.dump()};
  }
  if (is_model(path)) return {.body = models_.find(std::string_view(path).substr(kModel.size()))->description().dump()};
  if (path == "/metrics") return {.body = metrics_text(), .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  if (path == "/tokenizer_info") {
    const std::shared_ptr<ServedModel> model = models_.find("");
    return {.body = Json{{"bos_token", "<bos>"},
                         {"eos_token", "<eos>"},
                         {"pad_token", "<pad>"},
                         {"vocab_size", model->model().vocabulary().size()}}
                        .dump()};
  }
  throw not_answered(request);
}

HttpAnswer Api::answer_post(const HttpRequest& request) {
  check_body(request);
  const std::string& path = request.path;
  if (path == "/v1/tokenize" || path == "/tokenize") return {.body = tokenize(request.body).dump()};
  if (path == "/v1/detokenize" || path == "/detokenize") return {.body = detokenize(request.body).dump()};
  if (path == "/v1/features") return {.body = features(request.body).dump()};
  const std::string_view rest = after_completions(path);
  if (rest.ends_with("/knobs")) return change_knobs(rest.substr(0, rest.size() - 6), request.body);
  throw not_answered(request);
}

bool Api::begin_completion(const HttpRequest& http, const std::shared_ptr<HttpExchange>& exchange) {
  const bool chat = http.path == kChatCompletions;
  if (http.method != "POST" || (!chat && http.path != kCompletions)) return false;
  access_.check_key(http);
  check_body(http);
  CompletionRequest request = parse_completion_request(http.body, chat);
  std::shared_ptr<ServedModel> model = models_.find(request.model);
  const std::size_t texts = request.n * request.prompts.size();
  if (texts > options_.max_requests) {
    throw ApiError(400, fmt::format("n: this server writes at most {} texts at a time", options_.max_requests), "n");
  }
  num_texts_ += texts;
  std::shared_ptr<void> places(nullptr, [this, texts](void*) { num_texts_ -= texts; });
  if (num_texts_ > options_.max_requests) {
    throw ApiError(429, "the server has as many texts to write as it may; try again", "", "queue_full");
  }
  const CompletionRequest::Language language = request.language;
  const auto release = [this](const Completion& completion) {
    const std::lock_guard lock(mutex_);
    completions_.erase(completion.id());
  };
  const auto completion =
      std::make_shared<Completion>(random_id(chat ? "chatcmpl-" : "cmpl-"), std::move(request), model, exchange,
                                   metrics_, deadline(), std::move(places), release);
  {
    const std::lock_guard lock(mutex_);
    completions_.emplace(completion->id(), completion);
  }
  completion->watch_client();
  try {
    auto known = language.empty() ? nullptr : model->known_grammar(language);
    if ((language.empty() || known) && !completion->takes_long()) {
      completion->start(std::move(known));
    } else {
      later_->add_task([completion, model, language, exchange] {
        if (!completion->is_wanted()) return;
        try {
          completion->start(language.empty() ? nullptr : model->grammar(language));
        } catch (...) {
          if (completion->abandon()) exchange->send(error_answer(std::current_exception()));
        }
      });
    }
  } catch (...) {
    if (completion->abandon()) throw;
  }
  return true;
}

bool Api::begin_grammar_check(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
  if (request.method != "POST" || request.path != "/v1/grammar/check") return false;
  access_.check_key(request);
  check_body(request);
  const GrammarRequest wanted = parse_grammar_request(request.body);
  const std::shared_ptr<ServedModel> model = models_.find(wanted.model);
  later_->add(exchange, deadline(),
              [wanted, model] { return HttpAnswer{.body = check_grammar(*model, wanted).dump()}; });
  return true;
}

bool Api::begin_long_text(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
  const bool is_long = request.body.size() > kShortBody;
  if (!is_long || request.method != "POST" || !is_of_text(request.path)) return false;
  access_.check_key(request);
  later_->add(exchange, deadline(), [this, request] { return answer_post(request); });
  return true;
}

std::shared_ptr<Completion> Api::find_completion(std::string_view id) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = completions_.find(id);
    if (found != completions_.end()) {
      if (auto completion = found->second.lock()) return completion;
    }
  }
  throw ApiError(404, fmt::format("there is no completion {} any more", quoted_text(id)), "id");
}

HttpAnswer Api::change_knobs(std::string_view id, const std::string& body) {
  const KnobsRequest request = parse_knobs_request(body);
  const std::shared_ptr<Completion> completion = find_completion(id);
  const std::vector<Knob>& knobs = completion->model()->knobs();
  const std::vector<KnobSetting> settings = knob_settings(knobs, request.knobs);
  completion->set_knobs(settings, request.guidance);
  Json json = {{"id", id}, {"knobs", knobs_json(knobs, settings)}};
  if (request.guidance) json["guidance"] = *request.guidance;
  return {.body = json.dump()};
}

HttpAnswer Api::end_completion(std::string_view id) {
  find_completion(id)->cancel();
  return {.body = Json{{"id", id}, {"object", "completion.deleted"}, {"deleted", true}}.dump()};
}

Json Api::tokenize(const std::string& body) const {
  const TextRequest request = parse_text_request(body);
  const std::shared_ptr<ServedModel> model = models_.find(request.model);
  // What /tokenizer_info calls the special tokens, so that clients can learn their ids.
  for (const TokenId id : {Vocabulary::kPad, Vocabulary::kBos, Vocabulary::kEos}) {
    const std::string& name = model->model().vocabulary().word(id);
    if (request.text == name) return {{"tokens", Json::array({id})}, {"count", 1}, {"pieces", Json::array({name})}};
  }
  const std::vector<TokenId> ids = encoded(*model, request.text);
  Json pieces = Json::array();
  for (std::size_t i = 0; i < ids.size(); ++i) pieces.push_back(model->surface(ids[i], i == 0));
  return {{"tokens", ids}, {"count", ids.size()}, {"pieces", std::move(pieces)}};
}

Json Api::detokenize(const std::string& body) const {
  const TokensRequest request = parse_tokens_request(body);
  const LanguageModel& model = models_.find(request.model)->model();
  for (const TokenId id : request.tokens) {
    if (static_cast<std::size_t>(id) >= model.vocabulary().size()) {
      throw ApiError(400, fmt::format("tokens: {} is no token; ids are below {}", id, model.vocabulary().size()),
                     "tokens");
    }
  }
  const std::string text = model.decode(request.tokens);
  return {{"text", text}, {"prompt", text}, {"content", text}};
}

Json Api::features(const std::string& body) const {
  const TextRequest request = parse_text_request(body);
  const std::shared_ptr<ServedModel> model = models_.find(request.model);
  const std::vector<TokenId> ids = encoded(*model, request.text);
  if (ids.size() > kMostFeatureTokens) {
    throw ApiError(400,
                   fmt::format("text: has {} tokens, and features are shown of at most {}; send a part of it",
                               ids.size(), kMostFeatureTokens),
                   "text");
  }
  const TokenFeatures& known = ModelAccess::features(model->model());
  const FeatureMatrix rows = known.text_rows(ids);
  Json tokens = Json::array();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const float* const row = rows.row(i + 1);  // After <bos>.
    tokens.push_back(
        {{"text", model->surface(ids[i], i == 0)}, {"values", std::vector<double>(row, row + rows.num_features)}});
  }
  return {{"features", known.names()}, {"tokens", std::move(tokens)}};
}

std::string Api::metrics_text() const {
  Metrics::Now now{.connections = num_connections_};
  for (const auto& model : models_.used()) {
    const GenerationSession::Load load = model->session().load();
    now.running += load.running;
    now.waiting += load.waiting;
  }
  return metrics_.text(now);
}

std::vector<std::shared_ptr<Completion>> Api::completions() const {
  std::vector<std::shared_ptr<Completion>> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, weak] : completions_) {
    if (auto completion = weak.lock()) all.push_back(std::move(completion));
  }
  return all;
}

std::size_t Api::num_completions() const {
  const std::lock_guard lock(mutex_);
  return completions_.size();
}

bool Api::is_idle() const {
  return num_completions() == 0 && later_->is_idle();
}

void Api::tick(std::size_t num_connections) {
  num_connections_ = num_connections;
  const auto now = Completion::Clock::now();
  for (const auto& completion : completions()) completion->fail_if_late(now);
  later_->fail(now, ApiError(504, "the answer was not there in time; ask for less, or later", "", "timeout"));
  models_.forget_unused();
}

void Api::end_completions() {
  const ApiError ending(503, "the server is ending; ask again when it is back", "", "ending");
  for (const auto& completion : completions()) completion->fail(ending);
  later_->fail(LateAnswers::Clock::time_point::max(), ending);
}

}  // namespace semfuse
