// One request for completions, from its admission to the last byte of its answer.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "features/token_features.h"
#include "serve/http_exchange.h"
#include "serve/metrics.h"
#include "serve/served_model.h"
#include "wire/api_error.h"
#include "wire/completion_answer.h"
#include "wire/completion_request.h"
#include "wire/stop_text.h"

namespace semfuse {

// All functions may be called from several threads at once.
class Completion : public std::enable_shared_from_this<Completion> {
 public:
  using Clock = std::chrono::steady_clock;

  // `places` are those of its texts among all that are written: let go before the last of an answer is sent, so that
  // whoever has it may ask again. `on_end` is told once, when nothing of it is written any more, nor will be.
  Completion(std::string id, CompletionRequest request, std::shared_ptr<ServedModel> model,
             std::shared_ptr<HttpExchange> exchange, Metrics& metrics, Clock::time_point deadline,
             std::shared_ptr<void> places, std::function<void(const Completion&)> on_end);

  const std::string& id() const { return head_.id; }
  const std::shared_ptr<ServedModel>& model() const { return model_; }

  // Whether start() may take long even if the grammar is there.
  bool takes_long() const;
  // To be called first: from then on a client that goes away ends it.
  void watch_client();
  // Neither answered nor its client gone. One whose time is over is answered so.
  bool is_wanted();
  // Submits its texts, unless it is not wanted any more. Throws ApiError for what the model does not take; nothing has
  // begun then.
  void start(std::shared_ptr<const CompiledGrammar> grammar);
  // Of one whose start() threw, or that is never to start. False if it has been answered, or nobody waits for it.
  bool abandon();

  // From each text's next token on. Throws ApiError.
  void set_knobs(const std::vector<KnobSetting>& knobs, std::optional<double> guidance);
  // Ends its texts where they are; the answer says so as if they had ended.
  void cancel();
  // The same, and the answer is the error.
  void fail(const ApiError& error);
  void fail_if_late(Clock::time_point now);

 private:
  struct Choice {
    explicit Choice(std::vector<std::string> stops) : text(std::move(stops)) {}

    std::optional<GenerationSession::Ticket> ticket = {};
    StopText text;
    bool stopped = false;        // By a stop text.
    bool has_bytes = false;      // Its text, the prompt included, has some.
    std::size_t offset = 0;      // Bytes of the text before the next token,
    std::size_t characters = 0;  // and characters that begin there.
    std::vector<TokenLogprob> echoed_logprobs = {};
    std::vector<TokenLogprob> logprobs = {};  // Of a stream those that have not been sent.
    std::optional<TokenCursor> features = {};
    std::vector<TokenId> ids = {};  // If features look ahead.
    bool ended = false;
    Generation::Finish finish = Generation::Finish::ended;
    std::size_t completion_tokens = 0;
    Json explanations = {};   // Of its tokens; at its end all that `semfuse` says of it.
    std::string echoed = {};  // What it begins with.

    // The token stands next in the text.
    void place(TokenLogprob& logprob, std::string_view bytes) const;
    void advance(std::string_view bytes);
    // Of a text that a stop text ended: entries of what is not shown are dropped.
    void drop_stopped_logprobs();
    // Those of tokens that begin before that byte.
    std::vector<TokenLogprob> take_logprobs(std::size_t end);
  };

  GenerationRequest generation_request(const CompletionRequest::Prompt& prompt, std::size_t prompt_tokens,
                                       std::size_t index) const;
  // Throws ApiError for what the model does not know.
  std::vector<TokenId> ids_of(const CompletionRequest::Prompt& prompt) const;
  void begin_choice(Choice& choice, const std::vector<TokenId>& ids, const std::vector<TokenLogprob>& scored) const;
  std::vector<TokenLogprob> scored(const std::vector<TokenId>& ids, bool with_bos);
  // What a token with that entry of the vocabulary adds to the text.
  std::string surface_of(const std::string& word, bool first) const;
  void cancel_texts();
  // Only where logprobs are asked for.
  TokenLogprob logprob_of(const Choice& choice, const GeneratedToken& token, const std::string& bytes,
                          bool first) const;
  bool on_token(std::size_t index, const GeneratedToken& token);
  void on_text_end(std::size_t index, const Generation& generation);
  void begin_stream();
  void send_piece(std::size_t index, std::string_view text, const std::vector<TokenLogprob>& logprobs,
                  const Json* semfuse);
  void send_error(const ApiError& error);
  void send_whole();
  Usage usage() const;
  void finish();
  Json explanation(Choice& choice, const GeneratedToken& token, const std::string& bytes, bool first) const;

  AnswerHead head_;
  const CompletionRequest request_;
  const std::shared_ptr<ServedModel> model_;
  const std::shared_ptr<HttpExchange> exchange_;
  Metrics& metrics_;
  const Clock::time_point began_ = Clock::now();
  const Clock::time_point deadline_;
  std::function<void(const Completion&)> on_end_;
  const CompletionEvents events_;
  std::uint64_t seed_ = 1;
  std::vector<KnobSetting> knobs_;
  std::shared_ptr<const CompiledGrammar> grammar_;
  std::vector<std::shared_ptr<const LogitRule>> rules_;

  std::mutex mutex_;  // Guards what follows.
  std::shared_ptr<void> places_;
  std::vector<std::unique_ptr<Choice>> choices_;
  std::size_t num_left_ = 0;
  std::size_t prompt_tokens_ = 0;
  std::string sending_;  // Events on their way to the exchange; kept for its memory.
  bool submitted_ = false;
  bool streaming_ = false;
  bool failed_ = false;
  bool over_ = false;  // The client has gone or the answer is complete.
  bool has_token_ = false;
};

}  // namespace semfuse
