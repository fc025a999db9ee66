#include "generation/generator_parts.h"

#include <fmt/format.h>

#include "generation/word_slot.h"
#include "model/model_access.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr std::size_t kPrefixBytes = std::size_t{32} << 20;  // What a thread keeps of beginnings.

// The logits after a token must be the same whatever follows it.
bool guessing_helps(const LanguageModel& model) {
  return model.options().attention == AttentionMask::causal &&
         (!model.options().fusion || !ModelAccess::features(model).looks_ahead()) &&
         model.vocabulary().size() <= LogitMemory::kLargestVocabulary;
}

}  // namespace

GenerationWorker::GenerationWorker(const ReadModel& model) : memory(model.model().vocabulary().size()) {
  of(model);
}

ModelWorker& GenerationWorker::of(const ReadModel& model) {
  const auto [found, added] = models_.try_emplace(&model);
  if (added) found->second = std::make_unique<ModelWorker>(model, kPrefixBytes);
  return *found->second;
}

void GenerationWorker::forget_all_but(const ReadModel& model) {
  std::erase_if(models_, [&](const auto& entry) { return entry.first != &model; });
}

GeneratorParts::GeneratorParts(const LanguageModel& language_model, std::size_t threads)
    : model(language_model),
      read_model(model, threads),
      classes(word_classes(model.vocabulary(), model.feature_bank().lexicon())),
      fingerprint(token_surfaces(model).fingerprint()),
      cells(model),
      may_guess(guessing_helps(model)) {}

void GeneratorParts::check_vocabulary(const GenerationRequest& request) const {
  if (!request.grammar || request.grammar->vocabulary_fingerprint() == fingerprint) return;
  throw Error(
      fmt::format("generation: the grammar was compiled for another vocabulary ({} entries, this model has {}); "
                  "compile it with TokenSurfaces::of(model.vocabulary()), as Generator::compile() does",
                  request.grammar->vocab_size(), model.vocabulary().size()));
}

const GrammarVocabulary& GeneratorParts::grammar_vocabulary() {
  std::call_once(made_vocabulary_, [this] { grammar_vocabulary_.emplace(token_surfaces(model)); });
  return *grammar_vocabulary_;
}

std::unique_ptr<GenerationWorker> GeneratorParts::take_worker() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<GenerationWorker>(read_model);
  std::unique_ptr<GenerationWorker> worker = std::move(idle_.back());
  idle_.pop_back();
  return worker;
}

void GeneratorParts::give_back(std::unique_ptr<GenerationWorker> worker) {
  worker->forget_all_but(read_model);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
}

}  // namespace semfuse
