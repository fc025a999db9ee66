// A sentence in the making.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/matrix_view.h"
#include "features/token_features.h"
#include "generation/knob_cells.h"
#include "generation/logit_memory.h"
#include "generation/request_rows.h"
#include "generation/token_choice.h"
#include "model/incremental_pass.h"
#include "semfuse/generator.h"

namespace semfuse {

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

// What one request has become so far: its text, where that stands in the grammar, and the streams that read it. A draft
// computes no logits. Sentences take turns: each says in prepare() what it waits for, one pass of the model serves all
// of them, and each goes on with its rows in choose(); so a pass is large however short the sentences are. A draft's
// text depends on its request alone, whoever shares the passes.
class Draft {
 public:
  // All must outlive it; `classes` are those of the vocabulary's entries, `rules` what rule_settings() says of the
  // request's grammar. Throws Error for options out of range, and for a prompt that cannot begin the text.
  Draft(const LanguageModel& model, std::span<const std::size_t> classes, const KnobCells& cells,
        const GenerationRequest& request, std::span<const KnobSetting> rules, StreamPool& pool);
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft();

  // Streams for the coming pass. Must follow prepare().
  void add_streams(std::vector<TokenStream*>& streams) const;
  // Rows of logits that the pass gives for them.
  std::size_t num_rows() const { return stream_->num_guesses + 1 + (unasked_ != nullptr ? 1 : 0); }
  // The text as far as it came.
  Generation take();

  // Appends what needs no logits. True if the sentence then waits for them, false if it is finished.
  bool prepare(const std::function<bool(const GeneratedToken&)>& on_token);

  // Lets the coming pass compute a few tokens more, which may turn out to be the next ones. Must follow prepare().
  void guess(const LogitMemory& memory);

  // Chooses the next token and, while it is what was guessed, those after it. A row of logits for each. They are
  // remembered where there is a memory.
  void choose(Matrix logits, LogitMemory* memory, const std::function<bool(const GeneratedToken&)>& on_token);

 private:
  // What may follow so many words; null without a grammar. Where the budget is near, only what lets the sentence end
  // in time; if nothing does, all that the grammar allows.
  const TokenSet* allowed_by(std::optional<GrammarCursor>& cursor, std::size_t num_words) const;
  // The largest logit of the tokens that may come next.
  float most_probable(std::span<const float> logits);

  double uniform_after(std::size_t num_tokens) const;

  // What would be drawn after a text if the logits were those that are remembered.
  std::optional<TokenId> likely_next(std::span<const TokenId> text, std::optional<GrammarCursor>& cursor,
                                     const LogitMemory& memory);

  void choose(std::span<const float> logits, const std::function<bool(const GeneratedToken&)>& on_token);

  void read_prompt();
  // Appends a token of the prompt, whose place is counted from 1.
  void read_prompt_token(TokenId id, const std::string& word, std::size_t place);
  std::string text_so_far() const;

  std::string what_fits();

  // A setting of a rule holds for single words, but is asked for as if it held for the whole text: that is what the
  // model has learned to answer. So what is asked decides which stream reads the words; one that was not needed for
  // some words catches up with them.
  void choose_streams();

  // At least for the request and for none.
  std::size_t most_streams() const;

  // The rows of the text so far: one more for each token more, unless features look ahead.
  void read_features();

  // The stream for that request, with the text so far.
  TokenStream& stream_asked(const std::vector<float>& request);

  void append(GeneratedToken token, const std::function<bool(const GeneratedToken&)>& on_token);

  void finish();

  const LanguageModel& model_;
  std::span<const std::size_t> classes_;
  const GenerationRequest& request_;
  TokenChoice choice_;
  TokenChoice guessing_;  // The same, for tokens that may come to nothing.
  StreamPool& pool_;
  RequestRows asked_rows_;
  std::vector<TokenId> tokens_ = {Vocabulary::kBos};
  std::optional<TokenCursor> token_rows_;              // Of the tokens whose rows are known; none if they look ahead.
  std::vector<float> features_;                        // [tokens, num_features]
  std::vector<std::unique_ptr<TokenStream>> streams_;  // One for each of the last requests, the last one first.
  std::vector<std::size_t> rules_that_hold_;           // For the next token: GrammarCursor::settings().
  TokenStream* stream_ = nullptr;                      // For the next token.
  const TokenCells* cells_ = nullptr;                  // The same: those of what is asked for; may be null.
  double guidance_ = 1.0;                              // The same: how far past it.
  TokenStream* unasked_ = nullptr;                     // The same words with nothing asked for; only with guidance.
  std::optional<GrammarCursor> cursor_;
  Generation result_;
  bool finished_ = false;
};

}  // namespace semfuse
