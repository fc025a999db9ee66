#include "semfuse/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>

#include "core/thread_pool.h"
#include "generation/draft.h"
#include "generation/logit_memory.h"
#include "generation/word_slot.h"
#include "model/incremental_pass.h"
#include "model/model_access.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr std::size_t kStreams = 64;                         // Sentences that one thread works on at a time.
constexpr std::size_t kPrefixBytes = std::size_t{32} << 20;  // What a thread keeps of beginnings.

// The logits after a token must be the same whatever follows it.
bool guessing_helps(const LanguageModel& model) {
  return model.options().attention == AttentionMask::causal &&
         (!model.options().fusion || !ModelAccess::features(model).looks_ahead()) &&
         model.vocabulary().size() <= LogitMemory::kLargestVocabulary;
}

// What a thread needs to work on its texts; kept from one call to the next.
struct Worker {
  explicit Worker(const ReadModel& model) : memory(model.model().vocabulary().size()) {
    models.emplace(&model, own(model));
  }

  // Of one of the models that texts are read with. Sources may be gone after a call, so theirs are forgotten then.
  ModelWorker& of(const ReadModel& model) {
    const auto [found, added] = models.try_emplace(&model);
    if (added) found->second = own(model);
    return *found->second;
  }
  void forget_all_but(const ReadModel& model) {
    std::erase_if(models, [&](const auto& entry) { return entry.first != &model; });
  }

  LogitMemory memory;

 private:
  static std::unique_ptr<ModelWorker> own(const ReadModel& model) {
    return std::make_unique<ModelWorker>(model, kPrefixBytes);
  }

  std::map<const ReadModel*, std::unique_ptr<ModelWorker>> models;
};

}  // namespace

struct Generator::State {
  State(const LanguageModel& language_model, std::size_t num_threads)
      : model(language_model),
        threads(num_threads),
        read_model(model),
        classes(word_classes(model.vocabulary(), model.feature_bank().lexicon())),
        fingerprint(token_surfaces(model).fingerprint()),
        cells(model),
        may_guess(guessing_helps(model)) {}

  const LanguageModel& model;
  std::size_t threads;
  ReadModel read_model;
  std::vector<std::size_t> classes;
  std::uint64_t fingerprint;  // Of the vocabulary, as grammars have it.
  KnobCells cells;
  bool may_guess;

  // What the grammar's masks were computed for must be what they are applied to.
  void check_vocabulary(const GenerationRequest& request) const {
    if (!request.grammar || request.grammar->vocabulary_fingerprint() == fingerprint) return;
    throw Error(
        fmt::format("generation: the grammar was compiled for another vocabulary ({} entries, this model has {}); "
                    "compile it with TokenSurfaces::of(model.vocabulary()), as Generator::compile() does",
                    request.grammar->vocab_size(), model.vocabulary().size()));
  }

  std::unique_ptr<Worker> take_worker() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return std::make_unique<Worker>(read_model);
    std::unique_ptr<Worker> worker = std::move(idle.back());
    idle.pop_back();
    return worker;
  }
  void give_back(std::unique_ptr<Worker> worker) {
    worker->forget_all_but(read_model);
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(worker));
  }

 private:
  std::mutex mutex;
  std::vector<std::unique_ptr<Worker>> idle;
};

namespace {

// What the rules of grammars ask a model for: read once, however many sentences use a grammar.
class RuleSettings {
 public:
  explicit RuleSettings(std::span<const Knob> knobs) : knobs_(knobs) {}

  // Valid as long as the object. Throws Error as rule_settings() does.
  std::span<const KnobSetting> of(const CompiledGrammar* grammar) {
    if (grammar == nullptr) return {};
    const std::lock_guard lock(mutex_);
    const auto found = read_.find(grammar);
    if (found != read_.end()) return found->second;
    return read_.emplace(grammar, rule_settings(grammar->grammar(), knobs_)).first->second;
  }

 private:
  std::span<const Knob> knobs_;
  std::mutex mutex_;
  std::map<const CompiledGrammar*, std::vector<KnobSetting>> read_;
};

// The passes that drafts wait for, one of each model.
class Passes {
 public:
  void clear() { passes_.clear(); }

  void add(std::span<const Draft::Waiting> waiting) {
    for (const Draft::Waiting& each : waiting) of(each.worker).streams.push_back(each.stream);
  }

  void run() {
    for (OnePass& pass : passes_) pass.logits = pass.worker->pass.run(pass.streams);
  }

  // What streams that were added came to; to be asked for in the order of adding. Valid until the next call.
  std::span<const ReadRows> take(std::span<const Draft::Waiting> waiting) {
    rows_.clear();
    for (const Draft::Waiting& each : waiting) {
      OnePass& pass = of(each.worker);
      const std::size_t num_rows = each.stream->num_guesses + 1;
      rows_.push_back({.logits = pass.logits.row_range(pass.first_row, num_rows),
                       .hidden = pass.worker->pass.hidden().row_range(pass.first_row, num_rows),
                       .stream = each.stream});
      pass.first_row += num_rows;
    }
    return rows_;
  }

 private:
  struct OnePass {
    ModelWorker* worker;
    std::vector<TokenStream*> streams;
    Matrix logits;
    std::size_t first_row = 0;
  };
  OnePass& of(ModelWorker* worker) {
    const auto found = std::ranges::find(passes_, worker, &OnePass::worker);
    if (found != passes_.end()) return *found;
    passes_.push_back({.worker = worker, .streams = {}, .logits = {}});
    return passes_.back();
  }

  std::vector<OnePass> passes_;
  std::vector<ReadRows> rows_;
};

// What a callback threw; not an Error of the sentence, whatever it is.
struct CallbackFailed {
  std::exception_ptr cause;
};

}  // namespace

TokenSurfaces token_surfaces(const LanguageModel& model) {
  return model.tokenizer() != nullptr ? TokenSurfaces::of(*model.tokenizer()) : TokenSurfaces::of(model.vocabulary());
}

Generator::Generator(const LanguageModel& model, std::size_t threads)
    : state_(std::make_unique<State>(model, thread_count(threads))) {}
Generator::~Generator() = default;
Generator::Generator(Generator&&) noexcept = default;

Generation Generator::generate(const GenerationRequest& request, const TokenCallback& on_token) const {
  Generation generation = std::move(generate(std::span(&request, 1), on_token).front());
  if (generation.error) throw Error(*generation.error);
  return generation;
}

std::shared_ptr<const CompiledGrammar> Generator::compile(const Grammar& grammar) const {
  const LanguageModel& model = state_->model;
  rule_settings(grammar, model.options().knobs);  // Throws if the model cannot be asked for them.
  return std::make_shared<const CompiledGrammar>(grammar, token_surfaces(model));
}

std::vector<Generation> Generator::generate(std::span<const GenerationRequest> requests,
                                            const TokenCallback& on_token) const {
  State& s = *state_;
  std::vector<Generation> results(requests.size());
  const std::size_t workers = std::clamp<std::size_t>(requests.size(), 1, s.threads);
  const std::size_t streams = std::min(kStreams, (requests.size() + workers - 1) / workers);
  std::atomic<std::size_t> next = 0;
  RuleSettings rules(s.model.options().knobs);

  const auto callback_of = [&on_token](std::size_t index) -> std::function<bool(const GeneratedToken&)> {
    if (!on_token) return {};
    return [&on_token, index](const GeneratedToken& token) {
      try {
        return on_token(index, token);
      } catch (...) {
        throw CallbackFailed{std::current_exception()};
      }
    };
  };

  // Each worker keeps its streams busy: where a sentence ends, the next request begins.
  const auto work = [&] {
    struct Slot {
      std::size_t request;
      std::unique_ptr<Draft> draft;
      std::function<bool(const GeneratedToken&)> on_token;
    };
    std::unique_ptr<Worker> worker = s.take_worker();
    std::vector<Slot> slots;
    const auto worker_of = [&](const ReadModel& model) -> ModelWorker& { return worker->of(model); };
    Passes passes;
    const auto fail = [&](const Slot& slot, const Error& error) {
      if (slot.draft) results[slot.request] = slot.draft->take();
      results[slot.request].finish = Generation::Finish::failed;
      results[slot.request].error = error.what();
    };
    while (true) {
      while (slots.size() < streams) {
        const std::size_t index = next.fetch_add(1);
        if (index >= requests.size()) break;
        Slot slot{.request = index, .draft = nullptr, .on_token = callback_of(index)};
        try {
          s.check_vocabulary(requests[index]);
          slot.draft = std::make_unique<Draft>(s.read_model, s.classes, s.cells, requests[index],
                                               rules.of(requests[index].grammar.get()), worker_of);
          slots.push_back(std::move(slot));
        } catch (const Error& error) {
          fail(slot, error);
        }
      }
      std::erase_if(slots, [&](Slot& slot) {
        try {
          if (slot.draft->prepare(slot.on_token)) return false;
          results[slot.request] = slot.draft->take();
        } catch (const Error& error) {
          fail(slot, error);
        }
        return true;
      });
      if (slots.empty() && next.load() >= requests.size()) break;
      if (slots.empty()) continue;
      // A pass of one stream waits for the weights to arrive: a few more tokens cost it little.
      LogitMemory* const memory = slots.size() == 1 && s.may_guess ? &worker->memory : nullptr;
      if (memory != nullptr) slots.front().draft->guess(*memory);
      passes.clear();
      for (const Slot& slot : slots) passes.add(slot.draft->waiting());
      passes.run();
      for (Slot& slot : slots) {
        const std::span<const ReadRows> rows = passes.take(slot.draft->waiting());
        try {
          slot.draft->choose(rows, memory, slot.on_token);
        } catch (const Error& error) {
          fail(slot, error);
          slot.draft.reset();
        }
      }
      std::erase_if(slots, [](const Slot& slot) { return slot.draft == nullptr; });
    }
    s.give_back(std::move(worker));
  };
  try {
    if (workers == 1) {
      work();
    } else {
      ThreadPool pool(workers);
      pool.run(workers, [&](std::size_t, std::size_t) { work(); });
    }
  } catch (const CallbackFailed& failed) {
    std::rethrow_exception(failed.cause);
  }
  return results;
}

}  // namespace semfuse
