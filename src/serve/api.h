// The server's API: which request is answered with what.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "serve/access.h"
#include "serve/completion.h"
#include "serve/http_exchange.h"
#include "serve/late_answers.h"
#include "serve/metrics.h"
#include "serve/model_registry.h"

namespace semfuse {

struct ApiOptions {
  AccessOptions access = {};
  std::size_t max_requests = 256;              // Texts at a time, written or waiting; more are answered with 429.
  std::chrono::milliseconds timeout{120'000};  // For a whole answer.
  // Told of each request that was answered, from any thread: its status is 499 if the client went away.
  struct Record {
    std::string client, method, path;
    unsigned status = 0;
    double seconds = 0.0;
  };
  std::function<void(const Record&)> log = {};
};

// handle() and tick() are called by one thread, that of the server; what takes long goes elsewhere.
class Api {
 public:
  // `models` must outlive it.
  Api(ModelRegistry& models, ApiOptions options);
  // Ends what is being answered. The server that calls it must have stopped.
  ~Api();

  void handle(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange);
  // To be called a few times a second: ends what has taken too long.
  void tick(std::size_t num_connections);

  // These may be called from any thread.

  // Requests that are being answered.
  std::size_t num_completions() const;
  bool is_idle() const;  // No request is being answered, nor anything done for one that was.
  // Ends them where they are: the server cannot wait any longer.
  void end_completions();

 private:
  HttpAnswer answer(const HttpRequest& request);
  HttpAnswer answer_get(const HttpRequest& request);
  HttpAnswer answer_post(const HttpRequest& request);
  // True if it is one of these paths, which are answered later.
  bool begin_completion(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange);
  bool begin_grammar_check(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange);
  bool begin_long_text(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange);
  LateAnswers::Clock::time_point deadline() const { return LateAnswers::Clock::now() + options_.timeout; }
  std::shared_ptr<Completion> find_completion(std::string_view id) const;
  std::vector<std::shared_ptr<Completion>> completions() const;
  HttpAnswer change_knobs(std::string_view id, const std::string& body);
  HttpAnswer end_completion(std::string_view id);
  Json features(const std::string& body) const;
  Json tokenize(const std::string& body) const;
  Json detokenize(const std::string& body) const;
  std::string metrics_text() const;

  ModelRegistry& models_;
  const ApiOptions options_;
  const Access access_;
  Metrics metrics_;
  std::atomic<std::size_t> num_texts_ = 0;
  std::atomic<std::size_t> num_connections_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Completion>, std::less<>> completions_;
  std::unique_ptr<LateAnswers> later_;
};

}  // namespace semfuse
