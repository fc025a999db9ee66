// Texts that one thread writes together: each step is a pass of the model for all of them and a token more for each.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "generation/generator_parts.h"

namespace semfuse {

// Texts may be added between any two steps and leave where they end; who else is there changes no text. One thread at a
// time.
class DraftBatch {
 public:
  using OnToken = std::function<bool(const GeneratedToken&)>;
  // Told of each text that is finished, by the key that it was added with; a text that failed says why.
  using OnEnd = std::function<void(std::size_t key, Generation generation)>;

  static constexpr std::size_t kMostTexts = 64;  // More do not make a pass faster.

  // `parts` must outlive it.
  DraftBatch(GeneratorParts& parts, OnEnd on_end);

  std::size_t size() const { return slots_.size(); }
  bool empty() const { return slots_.empty(); }

  // `request` and `rules`, which are what rule_settings() says of its grammar, must stay until the text's end. What is
  // wrong with the request is told to on_end. Returns the draft, which lives until then; null if there is none.
  Draft* add(std::size_t key, const GenerationRequest& request, std::span<const KnobSetting> rules, OnToken on_token);

  // Each text has at least a token more afterwards, or has ended; of long prompts only a part is read, so that the
  // others need not wait for all of them. Throws what a callback throws and what is no Error;
  // the batch is then of no more use.
  void step();

  // Of texts that had sources of their own: to be called before these are gone.
  void forget_sources() { worker_->forget_all_but(parts_.read_model); }
  // Keeps for later texts what was kept of these; the batch is of no more use. Only if no text is left.
  void give_back() { parts_.give_back(std::move(worker_)); }

 private:
  struct Slot {
    std::size_t key;
    std::unique_ptr<Draft> draft;
    OnToken on_token;
    bool reads = false;  // Its prompt: no token is chosen in this step.
  };
  // The pass of one model that drafts wait for.
  struct Pass {
    ModelWorker* worker;
    std::vector<TokenStream*> streams;
    Matrix logits;
    std::size_t first_row = 0;
  };

  // The rest of a stream of which a pass reads a part alone.
  struct Cut {
    ModelWorker* worker;
    TokenStream* stream;
    std::vector<TokenId> tokens;
    std::vector<float> features;
    std::size_t num_guesses;
  };

  void fail(Slot& slot, const std::string& error);
  // Decides which slots read, and lets the pass of each have as many of its tokens as it may.
  void read_prompts();
  void cut(const Draft::Waiting& waiting, std::size_t num_tokens);
  Pass& pass_of(ModelWorker* worker);
  void run_passes();
  // What a draft's streams came to; to be asked for in the order of the slots. Valid until the next call.
  std::span<const ReadRows> take_rows(std::span<const Draft::Waiting> waiting);

  GeneratorParts& parts_;
  OnEnd on_end_;
  std::unique_ptr<GenerationWorker> worker_;
  Draft::Workers workers_;
  std::vector<Slot> slots_;
  std::vector<Pass> passes_;
  std::vector<Cut> cuts_;
  std::vector<ReadRows> rows_;
};

}  // namespace semfuse
