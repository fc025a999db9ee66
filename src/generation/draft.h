// A sentence in the making.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "generation/knob_cells.h"
#include "generation/logit_memory.h"
#include "generation/logit_source.h"
#include "generation/request_rows.h"
#include "generation/text_reader.h"
#include "generation/token_choice.h"
#include "model/model_access.h"
#include "semfuse/generator.h"

namespace semfuse {

// What a thread keeps for one model.
struct ModelWorker {
  // `model` must outlive it. Beginnings of texts are kept in up to `prefix_bytes`.
  ModelWorker(const ReadModel& model, std::size_t prefix_bytes)
      : owned(model.open_pass(prefix_bytes)), pass(*owned), streams(ModelAccess::empty_cache(model.model())) {}

  std::unique_ptr<StreamPass> owned;
  StreamPass& pass;
  StreamPool streams;
};

// Throws Error for options out of range, and for guidance of a knob that is none of `knobs`.
void check_request(const GenerationRequest& request, std::span<const Knob> knobs);

// What one request has become so far: its text, where that stands in the grammar, and the streams that read it. A draft
// computes no logits. Sentences take turns: each says in prepare() what it waits for, one pass of the model serves all
// of them, and each goes on with its rows in choose(); so a pass is large however short the sentences are. A draft's
// text depends on its request alone, whoever shares the passes.
class Draft {
 public:
  // What it reads a text with.
  using Workers = std::function<ModelWorker&(const ReadModel& model)>;

  // All must outlive it; `classes` are those of the vocabulary's entries, `rules` what rule_settings() says of the
  // request's grammar. Throws Error for options out of range, and for a prompt that cannot begin the text.
  Draft(const ReadModel& model, std::span<const std::size_t> classes, const KnobCells& cells,
        const GenerationRequest& request, std::span<const KnobSetting> rules, const Workers& workers);
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  // A stream that waits for a pass of its model.
  struct Waiting {
    ModelWorker* worker;
    TokenStream* stream;
  };
  // Those for the coming passes. Must follow prepare().
  std::span<const Waiting> waiting() const { return waiting_; }
  // The text as far as it came.
  Generation take();

  // Appends what needs no logits. True if the sentence then waits for them, false if it is finished.
  bool prepare(const std::function<bool(const GeneratedToken&)>& on_token);

  // Lets the coming pass compute a few tokens more, which may turn out to be the next ones. Must follow prepare().
  void guess(const LogitMemory& memory);

  // Chooses the next token and, while it is what was guessed, those after it. `rows` are those of waiting(). Logits are
  // remembered where there is a memory.
  void choose(std::span<const ReadRows> rows, LogitMemory* memory,
              const std::function<bool(const GeneratedToken&)>& on_token);

  // Ends the text where it is, as a callback does: prepare() finds it finished.
  void stop();

  // To be told when the request's knobs or guidance have changed: they hold from the next token on, which reads all of
  // the text as asked now. At any time between two tokens, a token's callback included. Only of a request without a
  // source of its own. Throws Error as the constructor does.
  void ask_again();

 private:
  // What may follow so many words; null without a grammar. Where the budget is near, only what lets the sentence end
  // in time; if nothing does, all that the grammar allows.
  const TokenSet* allowed_by(std::optional<GrammarCursor>& cursor, std::size_t num_words) const;
  double uniform_after(std::size_t num_tokens) const;

  // What would be drawn after a text if the logits were those that are remembered.
  std::optional<TokenId> likely_next(std::span<const TokenId> text, std::optional<GrammarCursor>& cursor,
                                     const LogitMemory& memory);

  void choose(std::span<const float> logits, const std::function<bool(const GeneratedToken&)>& on_token);

  void read_prompt();
  void read_prompt_ids();
  // Appends a token of the prompt, whose place is counted from 1.
  void read_prompt_token(TokenId id, const std::string& word, std::size_t place);
  std::string text_so_far() const;
  const std::string& word_of(TokenId id) const;

  std::string what_fits();

  // A setting of a rule holds for single words, but is asked for as if it held for the whole text: that is what the
  // model has learned to answer. So what is asked decides which stream reads the words; one that was not needed for
  // some words catches up with them.
  void choose_streams();

  // The text as that model reads it.
  struct ModelText {
    const ReadModel* model;
    ModelWorker* worker;
    std::unique_ptr<TextReader> reader;
  };
  ModelText& text_in(const ReadModel& model);

  void append(GeneratedToken token, const std::function<bool(const GeneratedToken&)>& on_token);

  void finish();

  const ReadModel& read_model_;
  const LanguageModel& model_;
  std::span<const std::size_t> classes_;
  const GenerationRequest& request_;
  TokenChoice choice_;
  TokenChoice guessing_;  // The same, for tokens that may come to nothing.
  Workers workers_;
  RequestRows asked_rows_;
  std::size_t most_tokens_;  // Of the text: what the request says, or less if the model cannot read more.
  std::vector<TokenId> tokens_ = {Vocabulary::kBos};
  std::unique_ptr<TextState> state_;          // Of the source.
  std::vector<ModelText> texts_;              // The generator's own model first.
  std::vector<std::size_t> rules_that_hold_;  // For the next token: GrammarCursor::settings().
  std::vector<Reading> readings_;             // The same.
  std::vector<std::size_t> row_of_reading_;   // Its place in waiting_.
  std::vector<Waiting> waiting_;              // The same; no stream twice.
  const TokenCells* cells_ = nullptr;         // The same: those of what is asked for; may be null.
  std::vector<float> unsteered_;              // The logits of the first reading, to be explained.
  std::optional<GrammarCursor> cursor_;
  Generation result_;
  bool finished_ = false;
};

}  // namespace semfuse
