// What a generator has of its model, for every thread that writes texts with it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "generation/draft.h"
#include "generation/knob_cells.h"
#include "generation/logit_memory.h"
#include "generation/read_model.h"
#include "semfuse/grammar.h"

namespace semfuse {

// What a thread needs to work on its texts; kept from one call to the next.
class GenerationWorker {
 public:
  explicit GenerationWorker(const ReadModel& model);

  // Of one of the models that texts are read with. Sources may be gone after a call, so theirs are forgotten then.
  ModelWorker& of(const ReadModel& model);
  void forget_all_but(const ReadModel& model);

  LogitMemory memory;

 private:
  std::map<const ReadModel*, std::unique_ptr<ModelWorker>> models_;
};

// Everything but the workers is immutable; may be used from several threads at once.
class GeneratorParts {
 public:
  // `model` must outlive it and keep its weights. A pass of a pretrained model uses so many threads.
  explicit GeneratorParts(const LanguageModel& model, std::size_t threads = 1);

  // Throws Error unless the grammar was compiled for this vocabulary: what its masks were computed for must be what
  // they are applied to.
  void check_vocabulary(const GenerationRequest& request) const;

  // The vocabulary as grammars need it, made when one is first compiled.
  const GrammarVocabulary& grammar_vocabulary();

  std::unique_ptr<GenerationWorker> take_worker();
  void give_back(std::unique_ptr<GenerationWorker> worker);

  const LanguageModel& model;
  const ReadModel read_model;
  const std::vector<std::size_t> classes;
  const std::uint64_t fingerprint;  // Of the vocabulary, as grammars have it.
  const KnobCells cells;
  const bool may_guess;

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<GenerationWorker>> idle_;
  std::once_flag made_vocabulary_;
  std::optional<GrammarVocabulary> grammar_vocabulary_;
};

}  // namespace semfuse
